"""Graphs whose nodes have features and labels, from any layout."""

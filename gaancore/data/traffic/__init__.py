"""Speeds of sensors on roads, from any layout."""

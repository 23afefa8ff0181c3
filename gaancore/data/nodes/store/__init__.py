"""Graphs on disk, memory-mapped when they are opened."""

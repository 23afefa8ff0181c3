"""Graphs larger than memory: put in order on disk, from arcs that come as a stream."""

"""Graphs in files of text: tables, lists of edges, OGB's columns, formats of networkx."""

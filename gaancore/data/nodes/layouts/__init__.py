"""The public layouts of graphs, one module each."""

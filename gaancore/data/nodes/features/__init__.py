"""Features of nodes and of edges: as they are kept, and as a model is given them."""

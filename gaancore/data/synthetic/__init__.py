"""Built-in look-alikes of the paper's data."""

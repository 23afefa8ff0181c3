"""Layers that read like the equations: they know Tensors and blocks, not files or epochs."""

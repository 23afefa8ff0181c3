"""Gated Attention Networks on large and spatiotemporal graphs, written from scratch.

Reading order: tensor.py (the engine), kernels/ (segments), ops/ (op beside gradient), graph/
(CSR and sampler), nn/ and models/ (the paper's equations), train/ (one step, one line each).
"""

from pathlib import Path

__version__ = "0.1.0"

# In a checkout, `gaancore.cli` lives beside the package in `cli/` (pyproject maps it when built).
_checkout = Path(__file__).resolve().parent.parent
if (_checkout / "pyproject.toml").is_file() and (_checkout / "cli" / "main.py").is_file():
    __path__.append(str(_checkout))

"""Where compiled functions are kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numba
import numpy as np
from gaancore.kernels import cpu
before = numba.config.CACHE_DIR
cpu.matmul(np.ones((3, 2)), np.ones((2, 3)))
cpu.linear_forward((np.ones((3, 2)),), np.ones((2, 2)), np.ones(2), 0.1)
assert numba.config.CACHE_DIR == before
from gaancore.kernels.cpu.products.linear import _forward
print(_forward._cache.cache_path)
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
@pytest.mark.parametrize(
    ("variable", "place"), [("XDG_CACHE_HOME", "gaancore/numba"), ("NUMBA_CACHE_DIR", "")]
)
def test_machine_code_is_kept_in_the_users_cache_and_never_beside_the_sources(
    tmp_path: Path, variable: str, place: str
) -> None:
    """pip would not remove it there; the leftover hides an editable installation that follows."""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment[variable] = str(tmp_path)
    root = Path(__file__).resolve().parent.parent
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment, cwd=root, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    assert Path(found).is_relative_to(tmp_path / place)
    assert list(Path(found).glob("*.nbi"))

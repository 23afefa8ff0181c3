"""What training does with memory: it keeps what is freed, and gives it back at the end."""

import json
import subprocess
import sys

import pytest

GIGABYTE = 1_000_000_000
PROGRAM = """
import ctypes, json, platform
import numpy as np
from gaancore.system.process import give_memory_back, prepare_process
if platform.libc_ver()[0] != "glibc":
    raise SystemExit(77)
prepare_process(1)
sbrk = ctypes.CDLL(None).sbrk  # where the heap ends
sbrk.restype = ctypes.c_void_p
held = [sbrk(0)]
for _ in range(2):
    arrays = [np.empty(600_000_000, np.uint8) for _ in range(3)]  # no page is written to
    del arrays
    held.append(sbrk(0))
give_memory_back()
held.append(sbrk(0))
print(json.dumps(held))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator is that of glibc")
def test_freed_memory_is_kept_for_the_next_step_until_training_ends():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("the C library is not glibc")
    assert done.returncode == 0, done.stderr
    before, once, twice, after = json.loads(done.stdout)
    assert once - before > 1.7 * GIGABYTE
    assert twice == once
    assert after - before < 0.1 * GIGABYTE

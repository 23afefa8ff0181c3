"""What training does with memory: it keeps what is freed, and gives it back at the end."""

import json
import subprocess
import sys

import pytest

MEGABYTES = 150
PROGRAM = f"""
import json, platform
import numpy as np
from gaancore.system.process import give_memory_back, prepare_process, rss_mb
if platform.libc_ver()[0] != "glibc":
    raise SystemExit(77)
prepare_process(1)
held = [rss_mb()]
for _ in range(2):
    arrays = [np.ones({MEGABYTES} * 1_000_000, np.uint8) for _ in range(2)]
    del arrays
    held.append(rss_mb())
give_memory_back()
held.append(rss_mb())
print(json.dumps(held))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator is that of glibc")
def test_freed_memory_is_kept_for_the_next_step_until_training_ends():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("the C library is not glibc")
    assert done.returncode == 0, done.stderr
    before, once, twice, after = json.loads(done.stdout)
    assert once - before > 2 * MEGABYTES * 0.9
    assert abs(twice - once) < 0.1 * MEGABYTES
    assert after - before < 0.3 * MEGABYTES

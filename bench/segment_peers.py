"""Runs bench/peer_segment_ops.py in other interpreters, on inputs that are handed over as files."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from segment_cases import OPS, Case

SCRIPT = Path(__file__).with_name("peer_segment_ops.py")
PATIENCE = 900  # seconds for the libraries of one interpreter
# the allocator keeps what is freed, as in gaancore.system.process
KEPT = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 62)}


def write_case(case: Case, folder: Path) -> None:
    """Inputs, gradient and expected results as FOLDER/PROFILE/NAME.npy."""
    target, op = folder / case.profile, OPS[case.op]
    target.mkdir(exist_ok=True)
    arrays = dict(zip((*op.inputs, op.grad), (*case.inputs, case.grad), strict=True))
    arrays |= {"indptr": case.block.indptr, "indices": case.block.indices}
    arrays["sources"] = np.array(case.block.num_src)
    for direction, results in case.expected.items():
        arrays |= {f"{case.op}-{direction}-{i}": x for i, x in enumerate(results)}
    for name, x in arrays.items():
        np.save(target / f"{name}.npy", x)


def peer_rows(
    python: str, folder: Path, num_threads: int, rules: dict[str, Any]
) -> list[dict[str, Any]]:
    """What the libraries of one interpreter take; `rules`: profiles, ops, repeats, budget, skip."""
    text = json.dumps({**rules, "threads": num_threads, "ops": _op_table(rules["ops"])})
    (folder / "rules.json").write_text(text, encoding="utf-8")
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(num_threads))
    command = [python, str(SCRIPT), str(folder)]
    environment = os.environ | threads | KEPT | {"DGLBACKEND": "pytorch"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=PATIENCE
        )
        lines, reason = done.stdout, done.stderr.strip().rpartition("\n")[2]
        stopped = bool(done.returncode)
    except subprocess.TimeoutExpired as late:
        lines, reason, stopped = (late.stdout or b"").decode(), f"{PATIENCE} s are over", True
    if stopped:  # what it has measured until then counts
        print(f"{python}: stopped: {reason}")
    return [json.loads(line) for line in lines.splitlines() if line.endswith("}")]


def _op_table(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    return {name: {"inputs": OPS[name].inputs, "grad": OPS[name].grad} for name in names}

"""The day with a GPU: bench/gpu_check.sh with stand-ins for its steps, and once with the emulator.

It ends well only if everything ran on a GPU and passed; each thing that may go wrong is red, by
name.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from emulator.module import NO_COMPILER, has_compiler

ROOT = Path(__file__).parents[2]
STANDING_IN = ROOT / "tests" / "emulator" / "standing_in"

# A Python that does each step as PLAN (JSON) says, and the page itself.
PYTHON = f"""#!{sys.executable}
import json, os, sys
from pathlib import Path

args, plan = sys.argv[1:], json.loads(os.environ["PLAN"])
if args[0] == "bench/gpu_page.py" or args[0] == "-c" and "reason" in args[1]:
    os.execv(sys.executable, [sys.executable, *args])


def after(option):
    return Path(args[args.index(option) + 1])


def cases(count, inner=""):
    return f"<testcase>{{inner}}</testcase>" * count


def do(step):
    with open(os.environ["CALLS"], "a") as file:
        file.write(json.dumps([step, *args]) + "\\n")
    todo = plan.get(step, {{}})
    print(todo.get("says", f"{{step}} is done"), file=sys.stderr)
    if todo.get("code"):
        sys.exit(todo["code"])
    return todo


if "doctor" in args:
    gpu = {{"reason": "", "driver": "13.0", "devices": [
        {{"device": "cuda:0", "name": "H<1>", "total_bytes": 80e9}}]}}
    gpu |= do("doctor")
    print(json.dumps({{"gpu": gpu, "system": "Linux", "versions": {{"gaancore": "0.1.0"}}}}))
elif "pytest" in args:
    todo = do("tests" if "--junitxml" in args else "sanitizer")
    inner = cases(todo.get("passed", 580), "<properties/>")
    inner += "".join(cases(1, f'<skipped message="{{why}}"/>') for why in todo.get("skipped", ()))
    if "--junitxml" in args:
        after("--junitxml").write_text(f"<testsuites><testsuite>{{inner}}</testsuite></testsuites>")
elif args[0] == "bench/segment_ops.py":
    ours = {{"library": "gaancore", "profile": "ppi", "op": "edge_dot", "direction": "forward",
            "device": "cuda:0", "bytes": 6e8, "median": 1e-3, "error": 1e-7}} | do("bench")
    if ours.pop("wrong", False):
        del ours["median"]
    dgl = ours | {{"library": "dgl", "median": 4e-3}}
    found = {{"rows": [ours, dgl], "roofs": [{{"copy_gb_s": 2400.0}}]}}
    after("--json").write_text(json.dumps(found))
else:
    out = after("--out")
    step = {{"warm": "warm", "ppi": "train", "metr-la": "forecast"}}[out.name]
    device = do(step).get("device", "cuda:0")
    out.mkdir()
    line = {{"edges_per_second": 2_000_000}}
    log = [line | {{"epoch": n, "step": 20 * n, "seconds": 9 + n / 2}} for n in (1, 2, 3)]
    (out / "log.jsonl").write_text("".join(json.dumps(x) + "\\n" for x in log))
    (out / "record.json").write_text(json.dumps({{"device": device}}))
"""
TIMEOUT = """#!/bin/bash
shift 2  # --kill-after=10 and the limit
if [[ -n "${LATE:-}" && "$*" == *"$LATE"* ]]; then exit 124; fi
exec "$@"
"""


@pytest.fixture
def day(tmp_path):
    """Runs the script with the stand-ins; gives its exit code, what it printed, page and calls."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in {"python": PYTHON, "timeout": TIMEOUT}.items():
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)

    def run(late: str = "", **plan: Any) -> tuple[int, str, str, list[list[str]]]:
        calls = tmp_path / "calls"
        calls.write_text("", encoding="utf-8")
        environment = os.environ | {
            "PATH": f"{programs}:/usr/bin:/bin",
            "PYTHON": str(programs / "python"),
            "PLAN": json.dumps(plan),
            "CALLS": str(calls),
            "LATE": late,
        }
        folder = tmp_path / f"day {len(list(tmp_path.iterdir()))}"
        command = ["bash", str(ROOT / "bench" / "gpu_check.sh"), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert "Traceback" not in done.stderr, done.stderr
        page = folder / "page.md"
        made = [json.loads(line) for line in calls.read_text().splitlines()]
        return done.returncode, done.stdout, page.read_text() if page.exists() else "", made

    return run


def test_a_good_day_ends_with_a_page_of_figures(day, tmp_path):
    code, said, page, calls = day()
    assert code == 0, said
    assert page.startswith("# gaancore on a GPU: passed\n")
    assert "- cuda:0: H<1>, 80.0 GB" in page
    assert "580 tests passed, 0 were skipped." in page
    assert "| ppi edge_dot forward | 1 | 600 | 25% | 4.00 |" in page  # 0.6 GB in 1 ms, of 2400
    assert "| ppi | 40 | 2 | 3 |" in page  # 40 steps in one second
    assert "| metr-la | 40 | 2 | 3 |" in page
    assert [step for step, *_ in calls] == ["doctor", "warm", "tests", "bench", "train", "forecast"]
    assert "sanitizer: compute-sanitizer is not installed: left out" in said


BAD = {
    "doctor fails": ({"doctor": {"code": 2, "says": "self-test: wrong"}}, "doctor: exit code 2; s"),
    "a test fails": ({"tests": {"code": 1, "says": "1 failed"}}, "tests: exit code 1; 1 failed"),
    "tests skip": ({"tests": {"skipped": ["no driver"] * 3}}, "tests: 3 skipped: no driver"),
    "few tests": ({"tests": {"passed": 500}}, "tests: 500 passed, of which there should be more"),
    "no tests": ({"tests": {"code": 5}}, "tests: 0 passed"),
    "bench fails": ({"bench": {"code": 1, "says": "an op is wrong"}}, "bench: no figures"),
    "an op is wrong": ({"bench": {"wrong": True, "error": 0.1}}, "forward on ppi: wrong by 1.0e-"),
    "bench on a CPU": ({"bench": {"device": "cpu"}}, "edge_dot forward on ppi: ran on cpu"),
    "train fails": ({"train": {"code": 3, "says": "out of memory"}}, "train: exit code 3; out of"),
    "train on a CPU": ({"forecast": {"device": "cpu"}}, "forecast: no finished run on a GPU"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_day_is_red_if(day, name):
    plan, line = BAD[name]
    code, said, page, _ = day(**plan)
    assert code == 1
    assert any(x.startswith("FAILED: ") and line in x for x in said.splitlines()), said
    assert page.startswith("# gaancore on a GPU: FAILED\n")
    assert line in page


@pytest.mark.parametrize(
    ("late", "step"), [("doctor", "doctor"), ("-m pytest", "tests"), ("segment_ops", "bench")]
)
def test_a_step_that_runs_out_of_time_is_named_so(day, late, step):
    code, said, page, _ = day(late=late)
    assert code == 1
    assert f"FAILED: {step}: timed out after " in said
    assert f"| {step} | timed out after " in page
    assert ("FAILED: train: did not run" in said) == (step == "doctor")


def test_a_test_may_be_skipped_for_lack_of_memory_alone(day):
    reason = "too little memory on the device: 9.0 GB are free"
    code, said, page, _ = day(tests={"skipped": [reason]})
    assert code == 0, said
    assert "580 tests passed, 1 were skipped." in page


def test_without_a_gpu_nothing_is_green(day):
    code, said, page, calls = day(doctor={"reason": "this machine has no NVIDIA driver"})
    assert (code, page, len(calls)) == (1, "", 1)
    assert said.splitlines()[-1] == "not run on a GPU: this machine has no NVIDIA driver"


def test_the_sanitizer_gets_one_file(day, tmp_path):
    program = tmp_path / "programs" / "compute-sanitizer"
    program.write_text('#!/bin/bash\nshift 2\nexec "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    code, said, page, calls = day(sanitizer={"code": 1, "says": "invalid read"})
    (call,) = [call for call in calls if call[0] == "sanitizer"]
    assert [word for word in call if "tests/" in word] == ["tests/cuda/test_cuda_kernels.py"]
    assert code == 1
    assert "FAILED: sanitizer: exit code 1; invalid read" in said
    assert "| sanitizer | exit code 1 |" in page


def test_a_folder_of_another_day_is_not_written_to(tmp_path):
    command = ["bash", str(ROOT / "bench" / "gpu_check.sh"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        2, f"{tmp_path}: is there already; choose another folder\n"
    )  # fmt: skip


# ---- with the emulator in the GPU's place ----------------------------------------------------


def emulated(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command for which the emulator is the GPU."""
    if not has_compiler():
        pytest.skip(NO_COMPILER)
    environment = os.environ | {"PYTHONPATH": str(STANDING_IN), "PYTHON": sys.executable}
    environment |= {"GAANCORE_NEED_GPU": "1"} | variables
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)


FEW_TESTS = ("-m", "pytest", "-m", "gpu", "-p", "no:cacheprovider", "tests/ops/test_operators.py")
OF_A_KERNEL = (*FEW_TESTS[:-1], "tests/ops/test_op_gradients.py", "-k", "update_of_a_gru")
SPOILED = "exp(-fabs(x))=>exp(-2 * fabs(x))"
DOCTOR = ("-c", "from gaancore.cli.main import main; main()", "doctor", "--device", "cuda")


def test_a_cupy_that_only_warns_turns_tests_red_that_would_be_skipped():
    done = emulated(sys.executable, *FEW_TESTS, CUPY_WARNS="1")
    assert done.returncode == 1
    assert re.search(r"^\d+ TESTS WERE SKIPPED ON A GPU: .*no NVIDIA driver", done.stdout, re.M)


@pytest.mark.slow
def test_a_broken_kernel_turns_the_tests_and_the_doctor_red():
    assert emulated(sys.executable, *OF_A_KERNEL).returncode == 0
    assert emulated(sys.executable, *DOCTOR).returncode == 0
    assert emulated(sys.executable, *OF_A_KERNEL, SPOILED=SPOILED).returncode == 1
    done = emulated(sys.executable, *DOCTOR, SPOILED=SPOILED)
    assert done.returncode == 2
    assert "gru_update_forward on cuda:0" in done.stderr.partition("self-test: wrong: ")[2]


@pytest.mark.slow
def test_the_whole_day_ends_well_on_the_emulator(tmp_path):
    """The emulator is slow, so all limits are longer."""
    script = ("bash", "bench/gpu_check.sh", "--tiny", str(tmp_path / "day"))
    done = emulated(*script, PATIENCE="10")
    assert done.returncode == 0, done.stdout
    page = (tmp_path / "day" / "page.md").read_text(encoding="utf-8")
    assert page.startswith("# gaancore on a GPU: passed\n")
    assert "- cuda:0: the CPU, as the emulator" in page
    assert page.count("| tiny ") == 2 * 7  # ops, forward and backward
    assert "| ppi | " in page
    assert "| metr-la | " in page

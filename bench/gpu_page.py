"""Judges what the steps of bench/gpu_check.sh left in FOLDER, and writes it on one page.

    python bench/gpu_page.py FOLDER

FOLDER/page.md says what failed, ran out of time, was skipped or did not run; kernels' times, GB/s
and share of a copy's speed beside other libraries; steps per second. Exit code 1 if anything is
wrong.
"""

import json
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

STEPS = ("doctor", "warm", "tests", "bench", "train", "forecast")  # sanitizer: where it is there
LEAST_PASSED = 500  # tests; there are more, so fewer means that some were not found
NO_ROOM = "too little memory on the device"  # the one reason for which a test may be skipped
TIMED_OUT = (124, 137)  # of `timeout`, and where it had to kill
RUNS = {"train": "ppi", "forecast": "metr-la"}


class Step(NamedTuple):
    name: str
    code: int
    seconds: int
    limit: int

    @property
    def outcome(self) -> str:
        if self.code in TIMED_OUT:
            return f"timed out after {self.limit} s"
        return "passed" if self.code == 0 else f"exit code {self.code}"


def main() -> None:
    folder = Path(sys.argv[1])
    steps = read_steps(folder)
    wrong = list(faults(folder, steps))
    text = "\n".join(page(folder, steps, wrong)) + "\n"
    (folder / "page.md").write_text(text, encoding="utf-8")
    for line in wrong:
        print(f"FAILED: {line}")
    print(f"{'FAILED' if wrong else 'passed'}: {folder / 'page.md'}")
    sys.exit(bool(wrong))


def read_steps(folder: Path) -> list[Step]:
    lines = (folder / "steps.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    return [Step(name, *map(int, numbers)) for name, *numbers in rows]


def faults(folder: Path, steps: list[Step]) -> Iterator[str]:
    """What keeps this from being a good day, a line each."""
    for step in steps:
        if step.code:
            yield f"{step.name}: {step.outcome}; {last_line(folder / f'{step.name}.log')}"
    ran = {step.name for step in steps}
    yield from (f"{name}: did not run" for name in STEPS if name not in ran)
    if "tests" in ran:
        yield from faults_of_tests(folder / "tests.xml")
    if "bench" in ran:
        yield from faults_of_bench(read(folder / "segment_ops.json"))
    for step, name in RUNS.items():
        device = (read(folder / name / "record.json") or {}).get("device", "")
        if step in ran and not device.startswith("cuda"):
            yield f"{step}: no finished run on a GPU"


def faults_of_tests(report: Path) -> Iterator[str]:
    passed, skipped = outcomes(report)
    if passed <= LEAST_PASSED:
        yield f"tests: {passed} passed, of which there should be more than {LEAST_PASSED}"
    for reason in dict.fromkeys(skipped):
        if NO_ROOM not in reason:
            yield f"tests: {skipped.count(reason)} skipped: {reason}"


def faults_of_bench(found: dict[str, Any] | None) -> Iterator[str]:
    ours = [row for row in (found or {"rows": []})["rows"] if row["library"] == "gaancore"]
    if not ours:
        yield "bench: no figures"
    for row in ours:
        call = f"bench: {row['op']} {row['direction']} on {row['profile']}"
        if not row["device"].startswith("cuda"):
            yield f"{call}: ran on {row['device']}"
        if "median" not in row:
            yield f"{call}: wrong by {row['error']:.1e}"


def outcomes(report: Path) -> tuple[int, list[str]]:
    """How many tests passed, and why each of the others was skipped."""
    if not report.is_file():
        return 0, []
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    passed = sum(not {"failure", "error", "skipped"} & {x.tag for x in case} for case in cases)
    return passed, [x.get("message", "") for case in cases for x in case.iter("skipped")]


def page(folder: Path, steps: list[Step], wrong: list[str]) -> Iterator[str]:
    """The lines of the page, in Markdown."""
    yield f"# gaancore on a GPU: {'FAILED' if wrong else 'passed'}"
    yield ""
    yield from (f"- {line}" for line in (*machine(read(folder / "doctor.json") or {}), *wrong))
    yield from ("", "| step | outcome | seconds | limit |", "| --- | --- | ---: | ---: |")
    for step in steps:
        yield f"| {step.name} | {step.outcome} | {step.seconds} | {step.limit} |"
    passed, skipped = outcomes(folder / "tests.xml")
    yield from ("", f"{passed} tests passed, {len(skipped)} were skipped.", "")
    if found := read(folder / "segment_ops.json"):
        yield from kernels(found)
    yield from (
        "",
        "| training | steps / s | M edges / s | epochs |",
        "| --- | ---: | ---: | ---: |",
    )
    for name in RUNS.values():
        yield from speed(name, folder / name)


def machine(doctor: dict[str, Any]) -> Iterator[str]:
    for device in doctor.get("gpu", {}).get("devices", ()):
        yield f"{device['device']}: {device['name']}, {device['total_bytes'] / 1e9:.1f} GB"
    if doctor:
        yield f"driver for CUDA: {doctor['gpu']['driver'] or 'none'}; {doctor['system']}"
        yield ", ".join(f"{name} {version}" for name, version in doctor["versions"].items())


def kernels(found: dict[str, Any]) -> Iterator[str]:
    """A table: ours, and how many times as long each other library takes on the same device."""
    rows = [row for row in found["rows"] if row["device"].startswith("cuda")]
    copy = max((roof["copy_gb_s"] for roof in found["roofs"]), default=float("nan"))
    others = list(dict.fromkeys(r["library"] for r in rows if r["library"] != "gaancore"))
    yield f"A copy on the device: {copy:.0f} GB/s. Other libraries: their time / ours."
    yield ""
    yield " | ".join(["| kernel", "ms", "GB/s", "of copy", *others]) + " |"
    yield "| --- |" + " ---: |" * (3 + len(others))
    for row in rows:
        if row["library"] != "gaancore" or "median" not in row:
            continue
        call = [row["profile"], row["op"], row["direction"]]
        beside = {
            other["library"]: other["median"] / row["median"]
            for other in rows
            if [other["profile"], other["op"], other["direction"]] == call and "median" in other
        }
        gb_s = row["bytes"] / row["median"] / 1e9
        cells = [" ".join(call), f"{1e3 * row['median']:.3g}", f"{gb_s:.3g}", f"{gb_s / copy:.0%}"]
        cells += [f"{beside[name]:.2f}" if name in beside else "" for name in others]
        yield f"| {' | '.join(cells)} |"


def speed(name: str, run: Path) -> Iterator[str]:
    """Steps and edges per second of a run: behind its first validation, when all is warm, if there
    are several. Its validations are counted too.
    """
    if not (run / "log.jsonl").is_file():
        return
    text = (run / "log.jsonl").read_text(encoding="utf-8")
    log = [json.loads(line) for line in text.splitlines()]
    if not log:
        return
    begun, warm = (log[0], log[1:]) if len(log) > 1 else ({"step": 0, "seconds": 0.0}, log)
    steps, seconds = (log[-1][key] - begun[key] for key in ("step", "seconds"))
    edges = sum(line["edges_per_second"] for line in warm) / len(warm)
    yield f"| {name} | {steps / seconds:.3g} | {edges / 1e6:.3g} | {log[-1]['epoch']:g} |"


def read(path: Path) -> dict[str, Any] | None:
    """The JSON in a file that a step wrote; None if there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.is_file() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


if __name__ == "__main__":
    main()

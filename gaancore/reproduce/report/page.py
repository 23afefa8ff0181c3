"""A report as Markdown."""

from collections.abc import Sequence
from typing import Any

from gaancore.reproduce.report.data import data_label, data_sentence, heading
from gaancore.reproduce.report.schema import (
    Count,
    CountsPart,
    Pair,
    ParametersReport,
    Report,
    RunsReport,
    RunsRow,
    SamplingReport,
    Spread,
)
from gaancore.tasks import Task, task_named

METRICS = {
    "micro_f1": "test micro-F1 in percent",
    "mean mae": "average test MAE",
    **{f"{ahead} min {error}": f"test {error.upper()} {ahead} minutes ahead"
       for ahead in (15, 30, 60) for error in ("mae", "rmse")},
}  # fmt: skip


def page(report: Report, level: int = 1, apart: str = "") -> str:
    """The report for people, its headings from `level` down.

    apart : what tells it from others on the same page, if it has to be told.
    """
    marks = "#" * level
    if report["table"] == "datasets":
        parts = [f"{marks} {report['title']}", *map(_counts, report["counts"])]
    elif report["table"] == "params":
        parts = [f"{marks} {report['title']}", _parameters(report), report["sentence"]]
    else:
        task, data = task_named(report["task"]), report["data"]
        parts = [f"{marks} {report['title']}: {heading(task)} ({data_label(data, apart)})"]
        if report["table"] == "sampling":
            parts += [data_sentence(data), _sampling(report)]
        else:
            parts += [data_sentence(data) + _settings(report, task), *_tables(report, task)]
            parts += [_order(report), *_gates(report), *_missing(report)]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _settings(report: RunsReport, task: Task) -> str:
    """Those that are not the defaults, and what follows for the scores."""
    words, changed = "", "; ".join(report["changed"])
    if chosen := report.get("settings"):
        words += f" {chosen[:1].upper()}{chosen[1:]}."
    if changed and task.of_paper:
        words += (
            " Settings other than the paper's, so nothing here stands beside its numbers: "
            f"{changed}."
        )
    elif changed:
        words += f" Settings that were asked for: {changed}."
    return words


def _tables(report: RunsReport, task: Task) -> list[str]:
    rows, groups = report["rows"], list(task.score_groups.items())
    filled = [(words, of) for words, of in groups if any(_has_one_of(row, of) for row in rows)]
    scores = [_scores(report, task, words, metrics) for words, metrics in filled or groups]
    if not task.of_paper:
        return [*scores, _runs(report, task)]
    return [*scores, _cited(report), _runs(report, task)]


def _has_one_of(row: RunsRow, metrics: Sequence[str]) -> bool:
    """Whether a row has a score in a column, of the paper or of ours."""
    return any(name in {**row["full"], **row["other"], **row["paper"]} for name in metrics)


def _cited(report: RunsReport) -> str:
    """Where the paper's numbers are, and what is to be known of its rows."""
    rows = report["rows"]
    places = dict.fromkeys(row["place"] for row in rows if row["place"])
    cited = f"The paper: {'; '.join(places)}. It prints no number where its cell is empty."
    sentences = [cited if places else "The paper has no such table."]
    if any(row.get("taken_from") for row in rows):
        sentences.append("Rows from another paper are shown as printed and are never run here.")
    if any(row.get("extension") for row in rows):
        sentences.append("Rows marked as an extension are not in the paper.")
    notes = [f"{row['name']}: {row['note']}" for row in rows if row.get("note")]
    if notes:
        sentences.append(f"Printed {'; '.join(notes)}.")
    return " ".join(sentences)


def _scores(report: RunsReport, task: Task, words: str, metrics: Sequence[str]) -> str:
    """Paper and ours; ours on anything but the paper's data has a column of its own, at the end.
    There is no paper for data of one's own.
    """
    name = heading(task)
    apart = {
        "full": "ours, other settings",
        "part": f"ours, not the full {name}",
        "own": name,
        "synthetic": "ours, SYNTHETIC data",
    }[report["data"]["kind"]]
    header = ["row", "runs", f"{apart} ({words})"]
    if task.of_paper:
        header[1:1] = [f"paper ({words})", f"ours, full {name}"]
    rows = []
    for row in report["rows"]:
        shown = row["full"] or row["other"]
        runs = str(next(iter(shown.values()))["n"]) if shown else ""
        cells = [_label(row), runs, _cell(row["other"], metrics)]
        if task.of_paper:
            cells[1:1] = [_printed(row, metrics), _cell(row["full"], metrics)]
        rows.append(cells)
    return table(header, rows)


def _cell(scores: dict[str, Spread], metrics: Sequence[str]) -> str:
    if not any(metric in scores for metric in metrics):
        return ""
    return " / ".join(_spread(scores.get(metric)) for metric in metrics)


def _spread(found: Spread | None) -> str:
    if found is None:
        return "–"
    return f"{found['mean']:.2f}" + ("" if found["std"] is None else f" ± {found['std']:.2f}")


def _label(row: RunsRow) -> str:
    """A row's name, and whose it is if it is not simply the paper's."""
    if taken := row.get("taken_from"):
        return f"{row['name']} (from {taken})"
    return f"{row['name']} (extension)" if row.get("extension") else row["name"]


def _printed(row: RunsRow, metrics: Sequence[str]) -> str:
    texts = row.get("printed", {})
    if not any(metric in texts for metric in metrics):
        return ""
    return " / ".join(texts.get(metric, "–") for metric in metrics)


def _runs(report: RunsReport, task: Task) -> str:
    """What the rows were made of."""
    header = ["row", "seeds", "#Param", "variant", "device", "epochs", "wall time"]
    pinned = any(row["paper_parameters"] for row in report["rows"])
    if task.of_paper and pinned:
        header.insert(3, "paper's #Param")
    rows = []
    for row in report["rows"]:
        if row["seeds"]:
            seeds = ", ".join(map(str, row["seeds"]))
            cells = [row["name"], seeds, f"{row['num_parameters']:,}", row["variant"]]
            cells += [row["device"], f"{row['epochs']:g}", f"{row['seconds']:.0f} s"]
            if task.of_paper and pinned:
                cells.insert(3, row["paper_parameters"] or "")
            rows.append(cells)
    return table(header, rows) if rows else ""


def _order(report: RunsReport) -> str:
    """Each comparison with its interval, and what it says of the claim's order."""
    order = report["order"]
    if not order:
        return ""
    ours = order.get("ours", False)
    whose, that = "The paper", "the paper's"
    if ours:
        aside = " (by us; the paper claims none)" if task_named(report["task"]).of_paper else ""
        whose, that = f"Expected{aside}", "the expected"
    words = (
        f"{whose}: {order['claim']}. On these data each pair of rows is compared seed by seed: "
        f"the mean difference of {METRICS[order['metric']]}, positive where it is {that} "
        "order, and its 95 % interval by Student's t with n − 1 degrees of freedom over n seeds. "
        "An order is shown if the whole interval is above 0, reversed if the whole of it is below "
        "0, and otherwise not decided. The intervals are not widened for the number of comparisons."
    )
    header = ("comparison", "difference", "95 % interval", "n", f"{that} order is")
    parts = [words, table(header, [_pair(pair) for pair in order["pairs"]])]
    for metric, pairs in order.get("also", {}).items():
        parts += [f"The same of {METRICS[metric]}:", table(header, list(map(_pair, pairs)))]
    return "\n\n".join(parts)


def _pair(pair: Pair) -> list[str]:
    name = f"{pair['better']} ≥ {pair['worse']}"
    if not pair["n"]:
        return [name, "", "", "", "not run"]
    found, outcome = pair["interval"], str(pair["outcome"])
    between = " to ".join(map(_signed, found)) if found else ""
    if found is None:
        outcome += " (one run)"
    elif outcome == "reversed":
        outcome = f"**{outcome}**"
    return [name, _signed(pair["difference"]), between, str(pair["n"]), outcome]


def _signed(number: float) -> str:
    return f"{number:+.2f}".replace("-", "−")


def _gates(report: RunsReport) -> list[str]:
    """What the pictures of gates show, in numbers."""
    gates = report.get("gates")
    if not gates:
        return []
    columns = {
        "mean": "mean gate",
        "std": "std over nodes",
        "share_closed": "share closed",
        "share_open": "share open",
        "entropy_mean": "attention entropy / log degree",
    }
    parts = [f"Gates of {gates['test_nodes']:,} test nodes; pictures in `gates/`."]
    for number, layer in enumerate(gates["layers"], start=1):
        spread = f"{layer['std_over_heads']:.3f}"
        parts.append(f"Layer {number}: standard deviation over the heads of a node {spread}.")
        rows = [
            [str(head), *("" if found[key] is None else f"{found[key]:.3f}" for key in columns)]
            for head, found in enumerate(layer["heads"], start=1)
        ]
        parts.append(table(("head", *columns.values()), rows))
    return parts


def _missing(report: RunsReport) -> list[str]:
    if not report["missing"]:
        return []
    return [f"Not run: {', '.join(report['missing'])}.", f"To run the rest: `{report['command']}`"]


def _sampling(report: SamplingReport) -> str:
    """Ours, and the paper's below: in the same table only on the paper's own data."""
    header = ["", *(f"\\|B_{step}\\|" for step in range(len(report["rows"][0]["nodes"]))), "edges"]
    ours = [[row["name"], *map(_whole, (*row["nodes"], row["edges"]))] for row in report["rows"]]
    printed = [
        [f"{row['name']}, paper ({row['place']})", *row["printed"], ""] for row in report["rows"]
    ]
    if report["beside"]:
        return table(header, ours + printed)
    return f"{table(header, ours)}\n\nPrinted for Reddit:\n\n{table(header, printed)}"


def _whole(number: float) -> str:
    return f"{number:,.0f}"


def _parameters(report: ParametersReport) -> str:
    header = ["task", "row", "built", "pinned by the paper's table", "printed", "equal"]
    rows = [
        [
            heading(task_named(row["task"])),
            row["name"],
            f"{row['built']:,}",
            f"{row['paper']:,}",
            row["printed"],
            "yes" if row["equal"] else "**no**",
        ]
        for row in report["rows"]
    ]
    return table(header, rows)


def _counts(part: CountsPart) -> str:
    """The paper's data beside what was found, which stands apart unless it is the whole set."""
    name = heading(task_named(part["task"]))
    full = part["kind"] == "full"
    header = ["", f"paper ({part['place']})", "found: the full set", "found: other data"]
    rows = []
    for count in part["rows"]:
        found = _number(count["found"])
        cells = [found, ""] if full else ["", found]
        rows.append([count["quantity"], _count_of_paper(count), *cells])
    return f"**{name}.** {part['words']}\n\n{table(header, rows)}"


def _count_of_paper(count: Count) -> str:
    """As printed, and exactly where that says more."""
    printed, exact = count["printed"] or "", _number(count["paper"])
    if not exact or exact == printed.split(" ")[0]:
        return printed
    return f"{printed}; exactly {exact}" if printed else f"exactly {exact}"


def _number(value: Any) -> str:
    if isinstance(value, list):
        return " / ".join(map(_number, value))
    return f"{value:,}" if isinstance(value, int) else value or ""

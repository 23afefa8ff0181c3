"""A report as Markdown."""

from collections.abc import Sequence
from typing import Any

from gaancore.data.paper import NAMES

Facts = dict[str, Any]


def page(report: Facts, level: int = 1) -> str:
    """The report for people, its headings from `level` down."""
    head = f"{'#' * level} {report['title']}"
    if "task" in report:
        head += f": {NAMES[report['task']]}"
    if "data" in report:
        head += f" (`{report['data']['file']}`)"
    parts = [head]
    if "counts" in report:
        parts += [_counts(part) for part in report["counts"]]
    elif "rows" in report:
        parts += [_opening(report), *_tables(report), *_order(report), *_gates(report)]
        parts += _missing(report)
    return "\n\n".join(part for part in parts if part) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _opening(report: Facts) -> str:
    if "data" not in report:
        return ""
    words = f"Data: {report['data']['words']}"
    if report["changed"]:
        words += (
            " Settings other than the paper's, so nothing here is set beside its numbers: "
            + "; ".join(report["changed"])
            + "."
        )
    return words


def _tables(report: Facts) -> list[str]:
    if report["table"] == "sampling":
        return [_sampling(report)]
    if report["table"] == "params":
        return [_parameters(report), report["sentence"]]
    groups = [report["metrics"]]
    if report["task"] == "metr-la":
        groups = [report["metrics"][i : i + 3] for i in range(0, len(report["metrics"]), 3)]
    places = dict.fromkeys(row["place"] for row in report["rows"] if row["place"])
    cited = f"The paper's numbers: {'; '.join(places)}. Empty where one could not be confirmed."
    return [*(_scores(report, group) for group in groups), cited, _runs(report)]


def _scores(report: Facts, metrics: list[str]) -> str:
    """Paper and ours; ours on anything but the paper's data has a column of its own, at the end."""
    name = NAMES[report["task"]]
    score = "test micro-F1, %"
    if report["task"] == "metr-la":
        score = f"{metrics[0].removesuffix(' mae')}: MAE / RMSE / MAPE, %"
    apart = {
        "full": "ours, other settings",
        "part": f"ours, not the full {name}",
        "synthetic": "ours, SYNTHETIC data",
    }[report["data"]["kind"]]
    header = ["row", f"paper ({score})", f"ours, full {name}", "runs", f"{apart} ({score})"]
    rows = []
    for row in report["rows"]:
        shown = row["full"] or row["other"]
        runs = str(next(iter(shown.values()))["n"]) if shown else ""
        paper = " / ".join(_printed(row["paper"].get(metric)) for metric in metrics)
        paper = paper if any(metric in row["paper"] for metric in metrics) else ""
        cells = [_cell(row["full"], metrics), runs, _cell(row["other"], metrics)]
        rows.append([row["name"], paper, *cells])
    return table(header, rows)


def _cell(scores: Facts, metrics: list[str]) -> str:
    if not any(metric in scores for metric in metrics):
        return ""
    return " / ".join(_spread(scores.get(metric)) for metric in metrics)


def _spread(found: Facts | None) -> str:
    if found is None:
        return "–"
    return f"{found['mean']:.2f}" + ("" if found["std"] is None else f" ± {found['std']:.2f}")


def _printed(numbers: list[float] | None) -> str:
    return " ± ".join(f"{number:.2f}" for number in numbers) if numbers else "–"


def _runs(report: Facts) -> str:
    """What the rows were made of."""
    header = [
        "row",
        "seeds",
        "#Param",
        "paper's #Param",
        "variant",
        "device",
        "epochs",
        "wall time",
    ]
    rows = []
    for row in report["rows"]:
        if row["seeds"]:
            made = [row["variant"], row["device"], f"{row['epochs']:g}", f"{row['seconds']:.0f} s"]
            seeds = ", ".join(map(str, row["seeds"]))
            count = f"{row['num_parameters']:,}"
            rows.append([row["name"], seeds, count, row["paper_parameters"] or "", *made])
    return table(header, rows) if rows else ""


def _order(report: Facts) -> list[str]:
    if not report.get("order"):
        return []
    order = report["order"]
    lines = [f"The paper: {order['claim']}. Here:", ""]
    for pair in order["pairs"]:
        words = f"- {pair['better']} against {pair['worse']}: "
        if pair["holds"] is None:
            words += "not run"
        else:
            words += (
                "holds" if pair["holds"] else "**does not hold**"
            ) + f" by {abs(pair['gap']):.2f}"
            words += {
                True: ", within a standard deviation",
                False: ", more than a standard deviation",
                None: "; not enough runs for a deviation",
            }[pair["within"]]
        lines.append(words)
    return ["\n".join(lines)]


def _gates(report: Facts) -> list[str]:
    """What the pictures of gates show, in numbers."""
    if not report.get("gates"):
        return []
    columns = {
        "mean": "mean gate",
        "std": "std over nodes",
        "share_closed": "share closed",
        "share_open": "share open",
        "entropy_mean": "attention entropy / log degree",
    }
    parts = [f"Gates of {report['gates']['test_nodes']:,} test nodes; pictures in `gates/`."]
    for number, layer in enumerate(report["gates"]["layers"], start=1):
        spread = f"{layer['std_over_heads']:.3f}"
        parts.append(f"Layer {number}: standard deviation over the heads of a node {spread}.")
        rows = [
            [str(head), *("" if found[key] is None else f"{found[key]:.3f}" for key in columns)]
            for head, found in enumerate(layer["heads"], start=1)
        ]
        parts.append(table(("head", *columns.values()), rows))
    return parts


def _missing(report: Facts) -> list[str]:
    if not report.get("missing"):
        return []
    return [f"Not run: {', '.join(report['missing'])}.", f"To run it: `{report['command']}`"]


def _sampling(report: Facts) -> str:
    """Ours, and the paper's below: in the same table only on the paper's own data."""
    header = ["", *(f"\\|B_{step}\\|" for step in range(len(report["rows"][0]["nodes"]))), "edges"]
    ours = [[row["name"], *map(_whole, (*row["nodes"], row["edges"]))] for row in report["rows"]]
    printed = [
        [f"{row['name']}, paper ({row['place']})", *map(_whole, row["paper"]), ""]
        for row in report["rows"]
    ]
    if report["beside"]:
        return table(header, ours + printed)
    return f"{table(header, ours)}\n\nPrinted for Reddit:\n\n{table(header, printed)}"


def _whole(number: float | None) -> str:
    return "" if number is None else f"{number:,.0f}"


def _parameters(report: Facts) -> str:
    header = ["task", "row", "built", "pinned by the paper's table", "printed", "equal"]
    rows = [
        [
            NAMES[row["task"]],
            row["name"],
            f"{row['built']:,}",
            f"{row['paper']:,}",
            row["printed"],
            "yes" if row["equal"] else "**no**",
        ]
        for row in report["rows"]
    ]
    return table(header, rows)


def _counts(part: Facts) -> str:
    """The paper's data beside what was found, which stands apart unless it is the whole set."""
    name = NAMES[part["task"]]
    full = part["kind"] == "full"
    header = ["", f"paper ({part['place']})", "found: the full set", "found: other data"]
    rows = []
    for count in part["rows"]:
        found = _number(count["found"])
        cells = [found, ""] if full else ["", found]
        rows.append([count["quantity"], _number(count["paper"]), *cells])
    return f"**{name}.** {part['words']}\n\n{table(header, rows)}"


def _number(value: Any) -> str:
    if isinstance(value, list):
        return " / ".join(map(_number, value))
    return f"{value:,}" if isinstance(value, int) else value or ""

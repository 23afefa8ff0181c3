"""How a run that classifies nodes is spoken of: its data, scores and doubts."""

from typing import Any

from gaancore.data.parts.rows import OpenParts
from gaancore.training.nodes.baselines.of_nodes import LOGISTIC, MAJORITY, PROPAGATION

Facts = dict[str, Any]
# what it means if a network is below a guess that sees a part of what the network sees
BELOW = {
    LOGISTIC: "a node's own features say more than the network makes of them and the graph; try "
    "another learning rate (lr), more dropout or weight_decay",
    PROPAGATION: "the labels around a node say more than the network makes of its features; try "
    "another learning rate (lr), or check the features",
}


def data(facts: Facts) -> str:
    """The size of the data in one phrase."""
    train, validation, test = facts["nodes_per_split"]
    filled = facts.get("features_filled")
    features = f"{facts['num_features']} features"
    if facts.get("learned_features"):
        features = "learned features"
    elif filled is not None:
        features += f" (sparse: {filled:.2%} are not 0)"
    parts = f" in {facts['parts']} parts" if "parts" in facts else ""
    return (
        f"{facts['num_nodes']:,} nodes{parts}, {facts['num_edges']:,} arcs, "
        f"{features}, {facts['num_classes']} classes; "
        f"train {train:,}, validation {validation:,}, test {test:,} nodes"
    )


def parts(opened: OpenParts) -> tuple[str, ...]:
    """Lines on a store in parts, and on who reads what of it."""
    data, ranks = opened.dataset, opened.team.size
    cut = f"{data.crossing_share:.1%} of the arcs lead from one part to another"
    if ranks == 1:
        return (cut,)
    kept = f"{data.cache:.1%} of the nodes, those with the most neighbours"
    return (
        f"{cut}; {ranks} processes read {data.num_parts} parts, and each keeps the rows of {kept}",
    )


def seen_in_training(transductive: bool) -> tuple[str, ...]:
    """A line if more is seen in training than the training nodes and those in no split."""
    if not transductive:
        return ()
    return (
        "transductive: the features and arcs of validation and test nodes are seen in training, "
        "their labels are not",
    )


NO_OTHERS = (
    "consistency does nothing here: training sees no node without a training label (transductive "
    "would change that)"
)


def not_centred(facts: Facts, normalize: str) -> tuple[str, ...]:
    """A line if features are standardised in a way of their own, because they are sparse."""
    if normalize != "standard" or "features_filled" not in facts:
        return ()
    return (
        "sparse features are divided by their deviation over the training nodes but not centred, "
        "so that zeros stay zeros",
    )


def validated(line: Facts) -> str:
    """The score of a line of the log."""
    cache = f"  cache hits {line['cache_hits']:.0%}" if "cache_hits" in line else ""
    return f"val F1 {line['validation']['micro_f1']:.4f}{cache}"


def result(record: Facts) -> str:
    """The headline score of a record."""
    if "test" not in record:
        return f"validation micro-F1 {record['validation']['micro_f1']:.4f} (no test nodes)"
    how = ", transductive" if record["settings"].get("transductive") else ""
    return f"test micro-F1 {record['test']['micro_f1']:.4f}{how}"


def caption(scores: dict[str, Facts]) -> None:
    """Nothing below a table of scores."""


def rows(record: Facts) -> dict[str, Facts]:
    """All scores of a record, by what was scored."""
    part = _part(record)
    found: Facts = {name: record[name] for name in ("test", "validation") if name in record}
    found |= {f"{name} on {part}": scores for name, scores in _guesses(record).items()}
    if "ceiling_micro_f1" in record["data"] and part == "test":
        found["ceiling on test"] = {"micro_f1": record["data"]["ceiling_micro_f1"]}
    return found


def columns(scores: dict[str, Facts]) -> list[str]:
    """The header of a table with a line for each of `scores`."""
    return ["", "micro-F1", "macro-F1"]


def cells(scores: dict[str, Facts], name: str) -> list[str]:
    """One of `scores`, to four digits."""
    found = scores[name]
    return [f"{found[key]:.4f}" if key in found else "" for key in ("micro_f1", "macro_f1")]


def doubts(record: Facts) -> list[str]:
    """What a reader of the scores should know."""
    found = [f"note: {note}" for note in record.get("baselines_notes", ())]
    part = _part(record)
    score = record[part]["micro_f1"]
    guesses = {name: scores["micro_f1"] for name, scores in _guesses(record).items()}
    for name, wrong in BELOW.items():
        if score < guesses.get(name, 0):
            found.append(
                f"warning: on {part} nodes the network ({score:.4f}) is below {name} "
                f"({guesses[name]:.4f}): {wrong}"
            )
    if score <= guesses.get(MAJORITY, -1):
        found.append(
            "warning: no better than the majority; check that labels and features are in the same "
            "order, and try normalize = standard or another learning rate (lr)"
        )
    return found


def _part(record: Facts) -> str:
    """What the headline score is of."""
    return "test" if "test" in record else "validation"


def _guesses(record: Facts) -> Facts:
    """The guesses beside it; gaancore 0.1 had one, and none without test nodes."""
    if "baselines" in record:
        return record["baselines"]
    return {MAJORITY: record[MAJORITY]} if MAJORITY in record else {}

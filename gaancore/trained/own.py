"""Scores of a classifier on the splits of the data that it was trained on."""

from collections.abc import Sequence

from gaancore import choices
from gaancore.data.nodes.dataset import TEST, TRAIN, VALIDATION
from gaancore.trained.opened import Scored
from gaancore.trained.scores import scores_of
from gaancore.training.nodes.parted.scorer import PartedScorer
from gaancore.training.nodes.predict import Classifier
from gaancore.training.nodes.scorer import Scorer

SPLITS = dict(zip(choices.SPLITS, (TRAIN, VALIDATION, TEST), strict=True))


def scored_on_own(
    classifier: Classifier, scorer: Scorer | PartedScorer, splits: Sequence[str], *, per_class: bool
) -> Scored:
    """{split: scores}, and those of guesses beside them; `notes` say which were left out."""
    model = classifier.model
    names = classifier.class_names or range(model.head.bias.shape[0])
    found = Scored()
    for split in splits:
        logits, labels = scorer.logits(model, SPLITS[split]), scorer.labels(SPLITS[split])
        probabilities = classifier.probabilities(logits)
        found[split] = scores_of(logits, probabilities, labels, names, per_class=per_class)
    for split in splits:
        if split != "train":  # the guesses know these labels
            guesses = scorer.baselines(SPLITS[split])
            scores = guesses.scores.items()
            found.update({f"{guess} on {split}": score for guess, score in scores})
            found.notes += tuple(note for note in guesses.notes if note not in found.notes)
    return found

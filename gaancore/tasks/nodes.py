"""Tasks that classify nodes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from gaancore.data import load_nodes
from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.paper import paper_data
from gaancore.data.parts.dataset import PartedDataset
from gaancore.data.summary import summarize_nodes
from gaancore.nn.module import Module
from gaancore.parallel import ALONE, Team
from gaancore.tasks.task import Task
from gaancore.trained.nodes import NodeRun
from gaancore.training.choices import Layer
from gaancore.training.nodes import words
from gaancore.training.nodes.build import build_model
from gaancore.training.nodes.run import ClassifierRun
from gaancore.training.nodes.settings import NodeSettings, task_settings
from gaancore.training.run_folder import RunFolder


@dataclass(frozen=True)
class NodeTask(Task):
    """Classifies nodes.

    load_data : reads the paper's data; None for data of one's own, in whatever layout.
    make      : makes the look-alike of the paper's data.
    """

    family: ClassVar[str] = "nodes"
    trained: ClassVar[type[NodeRun]] = NodeRun
    words: ClassVar[ModuleType] = words
    score_groups: ClassVar[dict[str, tuple[str, ...]]] = {"test micro-F1, %": ("micro_f1",)}
    headline: ClassVar[tuple[str, str]] = ("micro_f1", "test micro-F1, %")
    lenient: ClassVar[dict[str, Any]] = {"unflagged": "context", "nan": "zero"}

    load_data: Callable[..., NodeDataset] | None = None
    make: Callable[[], NodeDataset] | None = None

    def settings(self, *layers: Layer) -> NodeSettings:
        self.expect(layers)
        return task_settings(self.name, *layers)

    def read(self, path: Path, settings: NodeSettings) -> NodeDataset:
        s = settings
        options: dict[str, Any] = {
            "self_loops": s.self_loops,
            "unflagged": s.unflagged,
            "nan": s.nan,
            "reading": s.reading,
        }
        if self.load_data is not None:
            return self.load_data(path, **options)
        return self.read_any(path, s, multi_label=s.multi_label)

    def read_any(self, path: Path, s: NodeSettings, multi_label: bool | None) -> NodeDataset:
        """Data of one's own, with one class or several labels a node as the files say."""
        return load_nodes(
            path,
            name=path.name,
            multi_label=multi_label,
            self_loops=s.self_loops,
            unflagged=s.unflagged,
            nan=s.nan,
            reading=s.reading,
            repeated_edges=s.repeated_edges,
            split_shares=s.split_shares if any(s.split_shares) else None,
            split_seed=s.split_seed,
        )

    def look_alike(self) -> NodeDataset:
        assert self.make is not None
        return self.make()

    def shortened(self, settings: NodeSettings) -> NodeSettings:
        every = settings.validate_every if settings.validate_every >= 0 else 0
        return replace(super().shortened(settings), validate_every=every)

    def settled(
        self, dataset: NodeDataset, *layers: Layer, named: frozenset[str]
    ) -> tuple[NodeSettings, str | None]:
        """As of every task; features that are learned ask for some settings unless told others."""
        if dataset.learned:
            layers = (("learned features", {"transductive": True, "normalize": "none"}), *layers)
        return super().settled(dataset, *layers, named=named)

    def summarize(self, dataset: NodeDataset | PartedDataset) -> dict[str, Any]:
        if isinstance(dataset, PartedDataset):
            return dataset.summary | {"parts": dataset.parts, "crossing": dataset.crossing_share}
        return summarize_nodes(dataset)

    def kept(self, settings: NodeSettings, dataset: NodeDataset) -> NodeSettings:
        return settings

    def run(
        self,
        settings: Any,
        dataset: Any,
        folder: RunFolder,
        device: str,
        prefetch: int | None,
        team: Team = ALONE,
    ) -> ClassifierRun:
        return ClassifierRun(settings, dataset, folder, device, prefetch=prefetch, team=team)

    def paper_model(self, settings: NodeSettings) -> Module:
        data = paper_data(self.name)
        return build_model(settings, data["num_features"], data["num_classes"])

    def scores_in(self, test: Any) -> dict[str, float]:
        return {"micro_f1": 100 * test["micro_f1"]}

    def size(self, facts: Any) -> str:
        split = " / ".join(f"{count:,}" for count in facts["nodes_per_split"])
        return f"{facts['num_nodes']:,} nodes, split {split}"

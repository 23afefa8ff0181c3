"""Traffic forecasting: a Graph GRU encoder-decoder, and a network that does not see the roads."""

from collections.abc import Sequence

import numpy as np

from gaancore.array import Array, array_module, on_device_of
from gaancore.graph.copies import GraphCopies
from gaancore.models.node_classifier import FeedForward
from gaancore.nn.aggregators import AggregatorSpec
from gaancore.nn.graph_gru import GraphGRUCell
from gaancore.nn.linear import SLOPE, Linear
from gaancore.nn.module import Module
from gaancore.ops import concat, concat_rows, split_rows
from gaancore.tensor import Tensor

EMBED_DIM = 16  # of the inputs in the released code


class TrafficForecaster(Module):
    """Encoder and decoder of Graph GRU cells, and FC to one number a step (section 4.2).

    The encoder reads the known steps from a state of zeros. The decoder starts from its states and
    is given, step by step, the speed of the step before, which is its own prediction or (scheduled
    sampling) the truth, beside what is known in advance, such as the time of day.

    `paper`    : the first speed that the decoder is given is 0; beside a speed stand the features
                 of the step to be predicted.
    `released` : the first prediction is read from the encoder, so the decoder runs a step less;
                 beside a speed stand the features of its own step; encoder and decoder have an
                 FC to 16 with LeakyReLU before their first cell.

    num_inputs : F, channels of a step: the scaled speed, then the features.
    spec       : of the aggregators in all cells; it names the variant.

    >>> spec = AggregatorSpec("gaan", "paper", num_heads=2, mean_in_gate=False)
    >>> rng = np.random.default_rng(0)
    >>> roads = CSRGraph.from_edges([0, 1], [1, 0], 2, duplicates="keep")
    >>> model = TrafficForecaster(2, spec=spec, hidden_dim=8, num_layers=2, rng=rng)
    >>> steps = np.ones((12, 2, 2), np.float32)  # history, n, F
    >>> model(steps, steps[:3], GraphCopies(roads)).shape
    (2, 3)
    """

    def __init__(
        self,
        num_inputs: int,
        *,
        spec: AggregatorSpec,
        hidden_dim: int,
        num_layers: int,
        rng: np.random.Generator,
    ) -> None:
        def cells(in_dim: int) -> list[GraphGRUCell]:
            dims = [in_dim] + [hidden_dim] * (num_layers - 1)
            return [GraphGRUCell(dim, hidden_dim, spec, rng) for dim in dims]

        self.released = spec.variant == "released"
        if self.released:
            self.embed_encoder = Linear(num_inputs, EMBED_DIM, rng, slope=SLOPE)
            self.embed_decoder = Linear(num_inputs, EMBED_DIM, rng, slope=SLOPE)
        self.encoder = cells(EMBED_DIM if self.released else num_inputs)
        self.decoder = cells(EMBED_DIM if self.released else num_inputs)
        self.output = Linear(hidden_dim, 1, rng)

    def __call__(
        self,
        inputs: Array,
        future: Array,
        copies: GraphCopies,
        truth: Sequence[bool] = (),
    ) -> Tensor:
        """Scaled speeds (n, horizon) of B sequences side by side, n = B * N.

        inputs : (history, n, F). future : (horizon, n, F), of which channel 0, the true speeds, is
        looked at in the steps j where truth[j] holds: the decoder is then given the truth of step j
        for the step after it. No truth: the model's own predictions throughout.
        """
        with on_device_of(inputs):
            return self._forecast(inputs, future, copies, truth)

    def _forecast(
        self, inputs: Array, future: Array, copies: GraphCopies, truth: Sequence[bool]
    ) -> Tensor:
        num_copies = inputs.shape[1] // copies.num_nodes
        states = self._encode(inputs, copies, num_copies)
        block, decoder = copies.block(num_copies), [cell.ready() for cell in self.decoder]
        predictions = [self.output(states[-1])] if self.released else []
        while len(predictions) < len(future):
            step = len(predictions)
            if step == 0:
                before: Tensor | Array = array_module(future).zeros_like(future[0, :, :1])
            elif step <= len(truth) and truth[step - 1]:
                before = future[step - 1, :, :1]
            else:
                before = predictions[-1]
            x = concat(before, future[step - self.released, :, 1:])
            if self.released:
                x = self.embed_decoder(x)
            for layer, cell in enumerate(decoder):
                states[layer] = x = cell(x, states[layer], block)
            predictions.append(self.output(x))
        return concat(*predictions)

    def _encode(self, inputs: Array, copies: GraphCopies, num_copies: int) -> list[Tensor]:
        """The state of each layer after the last known step, (n, hidden_dim).

        Layer by layer: what a cell sees in its inputs is computed for all steps at once.
        """
        history, n, num_inputs = inputs.shape
        block, every_step = copies.block(num_copies), copies.block(history * num_copies)
        x: Tensor = Tensor(inputs.reshape(-1, num_inputs))
        if self.released:
            x = self.embed_encoder(x)
        states = []
        for cell in self.encoder:
            ready = cell.ready()
            h = Tensor(array_module(inputs).zeros((n, cell.out_dim), inputs.dtype))
            hs = []
            seen = [split_rows(part, count=history) for part in ready.see(x, every_step)]
            for x_now, *seen_now in zip(split_rows(x, count=history), *seen, strict=True):
                h = ready.step(seen_now, x_now, h, block)
                hs.append(h)
            states.append(h)
            x = concat_rows(*hs)
        return states


class FlatForecaster(Module):
    """The baseline without a graph, about the size of the paper's FC-LSTM: FC-ReLU-FC-ReLU-FC from
    a sensor's own history, and what is known of the steps to predict, to all steps at once.

    >>> rng = np.random.default_rng(0)
    >>> roads = CSRGraph.from_edges([0, 1], [1, 0], 2, duplicates="keep")
    >>> model = FlatForecaster(2, history=12, horizon=3, hidden_dim=8, rng=rng)
    >>> steps = np.ones((12, 2, 2), np.float32)
    >>> model(steps, steps[:3], GraphCopies(roads)).shape
    (2, 3)
    """

    def __init__(
        self, num_inputs: int, *, history: int, horizon: int, hidden_dim: int,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        in_dim = history * num_inputs + horizon * (num_inputs - 1)
        self.network = FeedForward(in_dim, horizon, hidden_dim=hidden_dim, rng=rng)

    def __call__(
        self,
        inputs: Array,
        future: Array,
        copies: GraphCopies,
        truth: Sequence[bool] = (),
    ) -> Tensor:
        """Scaled speeds (n, horizon); called like TrafficForecaster, whose copies and truth are of
        no use here.
        """
        n = inputs.shape[1]
        known = [inputs, future[:, :, 1:]]
        flat = [part.transpose(1, 0, 2).reshape(n, -1) for part in known]
        return self.network(Tensor(array_module(inputs).concatenate(flat, axis=1)))

"""GaAN in one file: the node classifier of Gated Attention Networks (Zhang et al., UAI 2018).

Read it from top to bottom: a tape, sums over neighbourhoods, the model, the sampler, Adam, and a
training run on a graph that the file makes itself. It needs NumPy and nothing else:

    python docs/gaan_in_one_file.py

Letters: N destinations, S sources, E edges, K heads, D numbers in a head. Node i has features x_i,
its neighbour j has features z_j, N_i is the set of neighbours of i, ++ puts vectors side by side.
"""

import numpy as np

# ---- 1. The tape: it records how each value was computed, and backward() plays it in reverse ----
TAPE = []  # every Tensor that was computed from others, oldest first


class Tensor:
    def __init__(self, value, parents=(), pull=None):
        self.value = value  # an array
        self.parents = parents  # the Tensors that it was computed from
        self.pull = pull  # a function: d loss / d value -> d loss / d parent, for each parent
        self.grad = np.zeros_like(value)  # d loss / d value, summed over all uses of the Tensor
        if parents:
            TAPE.append(self)

    def backward(self, grad=1.0):  # the chain rule; what was made last has its turn first
        self.grad = self.grad + grad
        while TAPE:
            made = TAPE.pop()
            for parent, piece in zip(made.parents, made.pull(made.grad), strict=True):
                parent.grad = parent.grad + piece

    def sigmoid(self):  # s = 1 / (1 + exp(-x)), ds/dx = s (1 - s)
        s = 1 / (1 + np.exp(-self.value))
        return Tensor(s, (self,), lambda grad: (grad * s * (1 - s),))

    def reshape(self, *shape):
        old = self.value.shape
        return Tensor(self.value.reshape(shape), (self,), lambda grad: (grad.reshape(old),))

    def first_rows(self, count):
        rest = np.zeros_like(self.value[count:])
        return Tensor(self.value[:count], (self,), lambda grad: (np.concatenate([grad, rest]),))

    def scale_heads(self, gates):  # (N, K, D) times (N, K): one factor for each head
        y, g = self.value, gates.value[:, :, None]
        return Tensor(y * g, (self, gates), lambda grad: (grad * g, (grad * y).sum(axis=2)))

    def dropout(self, rate, rng):  # zeros with probability `rate`; the rest grows to keep the mean
        factor = (rng.random(self.value.shape) >= rate) / (1 - rate)
        return Tensor(self.value * factor, (self,), lambda grad: (grad * factor,))

    def cross_entropy(self, labels):  # mean of -log p_label, p = softmax(x), d/dx = p - one-hot
        exps = np.exp(self.value - self.value.max(axis=1, keepdims=True))
        p, hot = exps / exps.sum(axis=1, keepdims=True), np.eye(exps.shape[1])[labels]
        loss = -np.log(p[hot == 1]).mean()
        return Tensor(loss, (self,), lambda grad: (grad * (p - hot) / len(labels),))


def linear(parts, weight, bias, slope):  # h((a ++ b ++ ...) W + b), h(y) = y if y > 0 else slope y
    x = np.concatenate([part.value for part in parts], axis=1)
    ends = np.cumsum([part.value.shape[1] for part in parts])[:-1]
    before = x @ weight.value + bias.value
    steep = np.where(before > 0, 1.0, slope)  # dh/dy

    def pull(grad):
        grad = grad * steep
        return *np.split(grad @ weight.value.T, ends, axis=1), x.T @ grad, grad.sum(axis=0)

    return Tensor(before * steep, (*parts, weight, bias), pull)


# ---- 2. Segments: sums over neighbourhoods of different sizes -----------------------------------
def sum_at(places, rows, count):  # out[places[e]] += rows[e] for each edge e
    out = np.zeros((count, *rows.shape[1:]))
    np.add.at(out, places, rows)
    return out


class Block:
    """Edges from S sources to N destinations, which are the first N sources.

    rows[i] lists the sources that lead to destination i: its segment. Edge e leads from src[e] to
    dst[e], one segment after the other. nodes[j] says which node of the graph source j is.
    """

    def __init__(self, rows, nodes):
        self.nodes, self.N, self.S = nodes, len(rows), len(nodes)
        self.src = np.array([j for row in rows for j in row], dtype=int)
        self.dst = np.array([i for i, row in enumerate(rows) for _ in row], dtype=int)

    def edge_dot(self, q, k):  # s_e = <q_i, k_j> for the edge e from j to i, in each head
        q_i, k_j = q.value[self.dst], k.value[self.src]

        def pull(grad):  # two weighted sums, one of them against the direction of the edges
            grad = grad[:, :, None]
            return sum_at(self.dst, grad * k_j, self.N), sum_at(self.src, grad * q_i, self.S)

        return Tensor((q_i * k_j).sum(axis=2), (q, k), pull)

    def softmax(self, s, scale):  # w_e = exp(scale s_e) / the sum of exp(scale s) over its segment
        top = np.full((self.N, s.value.shape[1]), -np.inf)
        np.maximum.at(top, self.dst, scale * s.value)  # subtracted, so that exp cannot overflow
        exps = np.exp(scale * s.value - top[self.dst])
        w = exps / sum_at(self.dst, exps, self.N)[self.dst]

        def pull(grad):  # ds_e = scale w_e (dw_e - the sum of w dw over its segment)
            return (scale * w * (grad - sum_at(self.dst, w * grad, self.N)[self.dst]),)

        return Tensor(w, (s,), pull)

    def weighted_sum(self, w, v):  # y_i = sum_j w_ij v_j, in each head
        w_e, v_j = w.value[:, :, None], v.value[self.src]

        def pull(grad):  # an edge dot, and a weighted sum against the direction of the edges
            y_i = grad[self.dst]
            return (y_i * v_j).sum(axis=2), sum_at(self.src, w_e * y_i, self.S)

        return Tensor(sum_at(self.dst, w_e * v_j, self.N), (w, v), pull)

    def mean(self, z):  # mean_j z_j; 0 without neighbours
        sizes = np.bincount(self.dst, minlength=self.N).clip(1)[:, None]
        y = sum_at(self.dst, z.value[self.src], self.N) / sizes
        return Tensor(y, (z,), lambda grad: (sum_at(self.src, (grad / sizes)[self.dst], self.S),))

    def max(self, z):  # max_j z_j in each column; 0 without neighbours
        wins = np.zeros((len(self.src), z.value.shape[1]))  # 1 where an edge has the maximum
        for i in np.unique(self.dst):
            edges = np.flatnonzero(self.dst == i)
            best = z.value[self.src[edges]].argmax(axis=0)  # the first of equals
            wins[edges[best], np.arange(len(best))] = 1
        y = sum_at(self.dst, wins * z.value[self.src], self.N)
        return Tensor(y, (z,), lambda grad: (sum_at(self.src, wins * grad[self.dst], self.S),))


# ---- 3. The model -------------------------------------------------------------------------------
class GaAN:
    """logits = FC(h_L), h_l+1 = dropout(layer_l(h_l)), h_0 = FC(features).

    heads lists K of each layer. variant "paper" has the equations as printed, "released" the layers
    whose parameters the paper counts. gate_dim 0 leaves the gates out: plain attention.
    """

    def __init__(self, classes, dim, heads, key_dim, value_dim, gate_dim, variant, rng):
        self.classes, self.dim, self.heads, self.key_dim = classes, dim, heads, key_dim
        self.value_dim, self.gate_dim, self.variant = value_dim, gate_dim, variant
        self.weights, self.rng = {}, rng

    def fc(self, name, width, *parts, slope=1.0, pace=1.0):  # FC; the first call makes W and b
        W, b = f"{name}.weight", f"{name}.bias"
        if W not in self.weights:
            rows = sum(part.value.shape[1] for part in parts)
            bound = np.sqrt(6 / (rows + width))
            self.weights[W] = Tensor(self.rng.uniform(-bound, bound, (rows, width)))
            self.weights[b] = Tensor(np.zeros(width))
            self.weights[W].pace = self.weights[b].pace = pace  # multiplies the learning rate
        return linear(parts, self.weights[W], self.weights[b], slope)

    def gate(self, name, K, x, z, block):  # equation 3: a number in (0, 1) for each node and head
        pooled = block.max(self.fc(f"{name}.max_branch", self.gate_dim, z)), block.mean(z)
        if self.variant == "paper":  # g_i = sigmoid(FC_g(x_i ++ max_j FC_m(z_j) ++ mean_j z_j))
            return self.fc(f"{name}.output", K, x, *pooled).sigmoid()
        hidden = self.fc(f"{name}.hidden", self.gate_dim, *pooled, slope=0.1)  # h(FC(max ++ mean))
        return self.fc(f"{name}.output", K, hidden, pace=0.1).sigmoid()  # sigmoid(FC_g(hidden))

    def layer(self, name, K, x, z, block):  # y_i = h(FC_o(x_i ++ [g_i^k sum_j w_ij^k v_j^k]_k))
        A, D, paper = self.key_dim, self.value_dim, self.variant == "paper"
        q = self.fc(f"{name}.query", K * A, x).reshape(-1, K, A)
        k = self.fc(f"{name}.key", K * A, z).reshape(-1, K, A)
        v = self.fc(f"{name}.value", K * D, z, slope=0.1).reshape(-1, K, D)
        w = block.softmax(block.edge_dot(q, k), 1.0 if paper else 1 / A)  # equation 1
        y = block.weighted_sum(w, v)
        if self.gate_dim:  # equation 2
            y = y.scale_heads(self.gate(f"{name}.gate", K, x, z, block))
        y = y.reshape(-1, K * D)
        return self.fc(f"{name}.output", self.dim, *((x, y) if paper else (y, x)), slope=0.1)

    def __call__(self, features, blocks, training=False):
        h = self.fc("embed", self.dim, Tensor(features[blocks[0].nodes]))
        for number, (block, K) in enumerate(zip(blocks, self.heads, strict=True)):
            h = self.layer(f"layers.{number}", K, h.first_rows(block.N), h, block)
            h = h.dropout(0.1, self.rng) if training else h
        return self.fc("head", self.classes, h)


# ---- 4. The sampler: who is needed to compute the outputs of a few seeds ------------------------
def sample_blocks(neighbours, seeds, fanouts, rng):  # a block a layer; the seeds' block is the last
    blocks, nodes = [], list(seeds)
    for fanout in fanouts:
        rows, place = [], {node: number for number, node in enumerate(nodes)}  # destinations first
        for node in nodes:
            drawn = neighbours[node]
            if len(drawn) > fanout:
                drawn = rng.choice(drawn, fanout, replace=False)
            rows.append([place.setdefault(j, len(place)) for j in drawn])  # a known node is merged
        nodes = list(place)
        blocks.insert(0, Block(rows, nodes))
    return blocks


# ---- 5. Adam (Kingma and Ba, 2015) --------------------------------------------------------------
class Adam:
    def __init__(self, weights, rate):
        self.weights, self.rate, self.t, self.moments = weights, rate, 0, {}

    def step(self):
        self.t += 1
        for name, w in self.weights.items():
            m, v = self.moments.get(name, (0.0, 0.0))  # running means of grad and of grad^2,
            m, v = 0.9 * m + 0.1 * w.grad, 0.999 * v + 0.001 * w.grad**2
            self.moments[name] = m, v
            m, v = m / (1 - 0.9**self.t), v / (1 - 0.999**self.t)  # which began at 0
            w.value = w.value - self.rate * w.pace * m / (np.sqrt(v) + 1e-8)
            w.grad = np.zeros_like(w.value)


# ---- 6. Training --------------------------------------------------------------------------------
def communities(rng, groups=4, size=60):  # most neighbours are of one's group; features are noisy
    labels = np.repeat(np.arange(groups), size)
    linked = rng.random((len(labels),) * 2) < np.where(labels[:, None] == labels, 0.10, 0.01)
    neighbours = [np.flatnonzero(row) for row in linked | linked.T]
    features = rng.standard_normal((groups, 8))[labels] + 2 * rng.standard_normal((len(labels), 8))
    return neighbours, features, labels


def main():
    rng = np.random.default_rng(0)
    neighbours, features, labels = communities(rng)
    train, test = np.split(rng.permutation(len(labels)), 2)
    model = GaAN(4, 16, [2, 2], key_dim=8, value_dim=8, gate_dim=8, variant="released", rng=rng)
    adam, losses = Adam(model.weights, rate=0.01), []
    for epoch in range(1, 31):
        for seeds in np.split(rng.permutation(train), 3):
            blocks = sample_blocks(neighbours, seeds, [5, 5], rng)
            loss = model(features, blocks, training=True).cross_entropy(labels[seeds])
            loss.backward()
            adam.step()
            losses.append(loss.value)
        if epoch % 5 == 0:
            blocks = sample_blocks(neighbours, test, [np.inf, np.inf], rng)  # all neighbours
            guesses = model(features, blocks).value.argmax(axis=1)
            TAPE.clear()  # there is no loss to go back from
            accuracy = (guesses == labels[test]).mean()
            print(f"epoch {epoch:2}  loss {np.mean(losses[-3:]):.3f}  test accuracy {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main()

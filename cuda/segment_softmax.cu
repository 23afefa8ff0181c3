// forward:  weights[e, k] = exp(scores[e, k] - top) / sum over the segment, top its maximum
// backward: out[e, k] = w[e, k] * (grad[e, k] - sum over the segment of w * grad)
//
// Owner: a team of lanes owns (row or piece, `heads` heads). Its lanes are laid over the row's
// (edge, head) pairs, which are neighbours in memory: loads and stores coalesce for any K. Lanes
// of one head meet by shuffles. Rows that are cut leave sums for each piece; the `_long` kernels,
// with the same owners, put them together in the same order and finish.
// Bytes: reads E*K (backward 2*E*K) and N + 1 indptr, writes E*K; second looks come from the
// cache.

struct Lane {
    int head, first, step;  // its head, its first edge in the row, edges from one to its next
};

__device__ __forceinline__ Lane lane_of(Team my, int heads, int K, offset item) {
    int chunks = (K + heads - 1) / heads;
    return {int(item % chunks) * heads + my.rank % heads, my.rank / heads, my.size / heads};
}

// Calls work(unit, lane) for each of the first `units` units, and chunk of its heads, that the team
// owns. The whole team calls it together.
template <class Work>
__device__ __forceinline__ void for_each_unit(offset units, const offset* indptr, offset N,
                                              offset slots, int K, int heads, int team, Work work) {
    Team my = team_of(team);
    int chunks = (K + heads - 1) / heads;
    for (offset item = first_item(team); item < units * chunks; item += item_stride(team)) {
        Unit unit;
        if (find_unit(item / chunks, indptr, N, slots, unit))
            work(unit, lane_of(my, heads, K, item));
    }
}

__device__ __forceinline__ offset first_edge(const Unit& unit, Lane lane, int K) {
    return lane.head < K ? unit.start + lane.first : unit.stop;
}

__device__ __forceinline__ void write_weights(const real* scores, const Unit& unit, Lane lane,
                                              int K, real top, real total, real* weights) {
    for (offset e = first_edge(unit, lane, K); e < unit.stop; e += lane.step) {
        real share = exp(scores[e * K + lane.head] - top);
        weights[e * K + lane.head] = total == 0 ? share : share / total;
    }
}

__device__ __forceinline__ void write_gradient(const real* weights, const real* grad,
                                               const Unit& unit, Lane lane, int K, real total,
                                               real* out) {
    for (offset e = first_edge(unit, lane, K); e < unit.stop; e += lane.step)
        out[e * K + lane.head] = weights[e * K + lane.head] * (grad[e * K + lane.head] - total);
}

extern "C" __global__ void segment_softmax_forward(const real* scores,    // (E, K)
                                                   const offset* indptr,  // (N + 1,)
                                                   offset N, offset slots, int K, int heads,
                                                   int team, real* weights,  // (E, K)
                                                   real* partial) {          // (slots, K, 2)
    Team my = team_of(team);
    for_each_unit(N + slots, indptr, N, slots, K, heads, team, [=](const Unit& unit, Lane lane) {
        real top = minus_infinity(), total = 0;
        for (offset e = first_edge(unit, lane, K); e < unit.stop; e += lane.step)
            top = larger(scores[e * K + lane.head], top);
        top = team_max(my, top, heads);
        for (offset e = first_edge(unit, lane, K); e < unit.stop; e += lane.step)
            total += exp(scores[e * K + lane.head] - shift_of(top));
        total = team_sum(my, total, heads);
        if (unit.slot < 0) {
            write_weights(scores, unit, lane, K, shift_of(top), total, weights);
        } else if (lane.first == 0 && lane.head < K) {
            partial[(unit.slot * K + lane.head) * 2] = top;
            partial[(unit.slot * K + lane.head) * 2 + 1] = total;
        }
    });
}

extern "C" __global__ void segment_softmax_forward_long(const real* scores, const offset* indptr,
                                                        offset N, offset slots, int K, int heads,
                                                        int team, real* weights,
                                                        const real* partial) {
    for_each_unit(slots, indptr, N, slots, K, heads, team, [=](const Unit& unit, Lane lane) {
        if (lane.head >= K) return;
        real top, total;
        join_pieces(partial, unit, K, lane.head, top, total);
        write_weights(scores, unit, lane, K, shift_of(top), total, weights);
    });
}

extern "C" __global__ void segment_softmax_backward(const real* weights,  // (E, K)
                                                    const real* grad,     // (E, K)
                                                    const offset* indptr, offset N, offset slots,
                                                    int K, int heads, int team,
                                                    real* out,        // (E, K)
                                                    real* partial) {  // (slots, K)
    Team my = team_of(team);
    for_each_unit(N + slots, indptr, N, slots, K, heads, team, [=](const Unit& unit, Lane lane) {
        real total = 0;
        for (offset e = first_edge(unit, lane, K); e < unit.stop; e += lane.step)
            total += weights[e * K + lane.head] * grad[e * K + lane.head];
        total = team_sum(my, total, heads);
        if (unit.slot < 0)
            write_gradient(weights, grad, unit, lane, K, total, out);
        else if (lane.first == 0 && lane.head < K)
            partial[unit.slot * K + lane.head] = total;
    });
}

extern "C" __global__ void segment_softmax_backward_long(const real* weights, const real* grad,
                                                         const offset* indptr, offset N,
                                                         offset slots, int K, int heads, int team,
                                                         real* out, const real* partial) {
    for_each_unit(slots, indptr, N, slots, K, heads, team, [=](const Unit& unit, Lane lane) {
        if (lane.head >= K) return;
        real total = 0;
        for (offset p = unit.slot - unit.piece, last = p + unit.pieces; p < last; ++p)
            total += partial[p * K + lane.head];
        write_gradient(weights, grad, unit, lane, K, total, out);
    });
}

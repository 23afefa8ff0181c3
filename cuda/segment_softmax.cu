// forward:  weights[e, k] = exp(scores[e, k] - top) / sum over the segment, top its maximum
// backward: out[e, k] = w[e, k] * (grad[e, k] - sum over the segment of w * grad)
//
// Owner: a team of lanes owns (row or piece, `heads` heads). Its lanes are laid over the row's
// (edge, head) pairs, which are neighbours in memory: loads and stores coalesce for any K. Lanes
// of one head meet by shuffles. Rows that are cut leave sums for each piece. In the `_join` kernels
// a team owns a row and a head, and puts them together in a tree; the `_long` kernels, with the
// owners of the first, finish.
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

// Puts a row's (maximum, sum) in the place of its first piece's.
extern "C" __global__ void segment_softmax_forward_join(const offset* indptr, offset N,
                                                        offset slots, int K, int team,
                                                        real* partial) {
    Team my = team_of(team);
    for (offset t = first_item(team); t < slots * K; t += item_stride(team)) {
        int k = t % K;
        Unit unit;
        if (!find_unit(t / K, indptr, N, slots, unit) || unit.piece != 0) continue;
        real top, total;
        join_pieces(my, partial, unit, K, k, top, total);
        if (my.rank != 0) continue;  // the only lane that has read the first piece
        partial[t * 2] = top;
        partial[t * 2 + 1] = total;
    }
}

extern "C" __global__ void segment_softmax_forward_long(const real* scores, const offset* indptr,
                                                        offset N, offset slots, int K, int heads,
                                                        int team, real* weights,
                                                        const real* partial) {
    for_each_unit(slots, indptr, N, slots, K, heads, team, [=](const Unit& unit, Lane lane) {
        if (lane.head >= K) return;
        const real* row = partial + ((unit.slot - unit.piece) * K + lane.head) * 2;
        write_weights(scores, unit, lane, K, shift_of(row[0]), row[1], weights);
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

// Puts the sum over a row in the place of its first piece's.
extern "C" __global__ void segment_softmax_backward_join(const offset* indptr, offset N,
                                                         offset slots, int K, int team,
                                                         real* partial) {
    Team my = team_of(team);
    for (offset t = first_item(team); t < slots * K; t += item_stride(team)) {
        Unit unit;
        if (!find_unit(t / K, indptr, N, slots, unit) || unit.piece != 0) continue;
        real total = 0;
        for (offset p = my.rank; p < unit.pieces; p += team) total += partial[t + p * K];
        total = team_sum(my, total);
        if (my.rank == 0) partial[t] = total;
    }
}

extern "C" __global__ void segment_softmax_backward_long(const real* weights, const real* grad,
                                                         const offset* indptr, offset N,
                                                         offset slots, int K, int heads, int team,
                                                         real* out, const real* partial) {
    for_each_unit(slots, indptr, N, slots, K, heads, team, [=](const Unit& unit, Lane lane) {
        if (lane.head >= K) return;
        real total = partial[(unit.slot - unit.piece) * K + lane.head];
        write_gradient(weights, grad, unit, lane, K, total, out);
    });
}

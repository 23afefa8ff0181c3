// forward:  weights[e, k] = exp(scores[e, k] - top) / sum over the segment, top its maximum
// backward: out[e, k] = w[e, k] * (grad[e, k] - sum over the segment of w * grad)
//
// Owner: a team of lanes owns (row or piece, HEADS heads). Its lanes are laid over the row's
// (edge, head) pairs, which are neighbours in memory: loads and stores coalesce for any K. Lanes
// of one head meet by shuffles. Rows that are cut leave sums for each piece. In the `_join` kernels
// a team owns a row and a head, and puts them together in a tree; the `_long` kernels, with the
// owners of the first, finish.
// Bytes: reads E*K (backward 2*E*K) and N + 1 indptr, writes E*K; second looks come from the
// cache.

#define K GIVEN_K          // heads
#define HEADS GIVEN_HEADS  // heads that a team owns: a power of two
#define TEAM GIVEN_TEAM    // lanes, at least HEADS

#define CHUNKS ((K + HEADS - 1) / HEADS)  // of the heads of a row
#define STEP (TEAM / HEADS * K)           // numbers from one of a lane to its next

struct Lane {  // its head, its first number of the row, and how many it has
    int head;
    offset first;
    int count;
};

__device__ __forceinline__ Lane lane_of(const Unit& unit, offset item) {
    int rank = threadIdx.x % TEAM, head = int(item % CHUNKS) * HEADS + rank % HEADS;
    int edge = rank / HEADS, left = head < K ? unit.stop - unit.start - edge : 0;
    return {head, (unit.start + edge) * K + head,
            left > 0 ? (left + TEAM / HEADS - 1) / (TEAM / HEADS) : 0};
}

// Calls work(unit, lane, found) for each of the first `units` units, and chunk of its heads, that
// the team owns. The whole warp calls it together; what is not found is empty.
template <class Work>
__device__ __forceinline__ void for_each_unit(offset units, const offset* indptr, offset N,
                                              offset slots, Work work) {
    for (offset item = first_item(TEAM); any_lane(item < units * CHUNKS);
         item += item_stride(TEAM)) {
        Unit unit = {};
        bool found = item < units * CHUNKS && find_unit(item / CHUNKS, indptr, N, slots, unit);
        work(unit, lane_of(unit, item), found);
    }
}

__device__ __forceinline__ void write_weights(const real* scores, Lane lane, real top, real total,
                                              real* weights) {
    real inverse = total == 0 ? real(1) : 1 / total;
    for (int n = 0; n < lane.count; ++n) {
        offset t = lane.first + n * STEP;
        weights[t] = exp(scores[t] - top) * inverse;
    }
}

__device__ __forceinline__ void write_gradient(const real* weights, const real* grad, Lane lane,
                                               real total, real* out) {
    for (int n = 0; n < lane.count; ++n) {
        offset t = lane.first + n * STEP;
        out[t] = weights[t] * (grad[t] - total);
    }
}

extern "C" __global__ void segment_softmax_forward(
    const real* scores, const offset* indptr, offset N, offset slots,  // (E, K), (N + 1,)
    real* weights, real* partial) {                                    // (E, K), (slots, K, 2)
    Team my = team_of(TEAM);
    for_each_unit(N + slots, indptr, N, slots, [=](const Unit& unit, Lane lane, bool found) {
        real top = minus_infinity(), total = 0;
        for (int n = 0; n < lane.count; ++n) top = larger(scores[lane.first + n * STEP], top);
        top = team_max(my, top, HEADS);
        for (int n = 0; n < lane.count; ++n)
            total += exp(scores[lane.first + n * STEP] - shift_of(top));
        total = team_sum(my, total, HEADS);
        if (unit.slot < 0) {
            write_weights(scores, lane, shift_of(top), total, weights);
        } else if (found && my.rank < HEADS && lane.head < K) {
            partial[(unit.slot * K + lane.head) * 2] = top;
            partial[(unit.slot * K + lane.head) * 2 + 1] = total;
        }
    });
}

// Puts a row's (maximum, sum) in the place of its first piece's.
extern "C" __global__ void segment_softmax_forward_join(const offset* indptr, offset N,
                                                        offset slots, int team, real* partial) {
    Team my = team_of(team);
    for (offset t = first_item(team); any_lane(t < slots * K); t += item_stride(team)) {
        int k = t % K;
        Unit unit;
        bool found = find_first_piece(t / K, indptr, N, slots, unit);
        real top, total;
        join_pieces(my, partial, unit, K, k, top, total);
        if (my.rank != 0 || !found) continue;  // the only lane that has read the first piece
        partial[t * 2] = top;
        partial[t * 2 + 1] = total;
    }
}

extern "C" __global__ void segment_softmax_forward_long(const real* scores, const offset* indptr,
                                                        offset N, offset slots, real* weights,
                                                        const real* partial) {
    for_each_unit(slots, indptr, N, slots, [=](const Unit& unit, Lane lane, bool found) {
        if (!found || lane.head >= K) return;
        const real* row = partial + ((unit.slot - unit.piece) * K + lane.head) * 2;
        write_weights(scores, lane, shift_of(row[0]), row[1], weights);
    });
}

extern "C" __global__ void segment_softmax_backward(
    const real* weights, const real* grad, const offset* indptr, offset N, offset slots,  // (E, K)
    real* out, real* partial) {                                           // (E, K), (slots, K)
    Team my = team_of(TEAM);
    for_each_unit(N + slots, indptr, N, slots, [=](const Unit& unit, Lane lane, bool found) {
        real total = 0;
        for (int n = 0; n < lane.count; ++n)
            total += weights[lane.first + n * STEP] * grad[lane.first + n * STEP];
        total = team_sum(my, total, HEADS);
        if (unit.slot < 0)
            write_gradient(weights, grad, lane, total, out);
        else if (found && my.rank < HEADS && lane.head < K)
            partial[unit.slot * K + lane.head] = total;
    });
}

// Puts the sum over a row in the place of its first piece's.
extern "C" __global__ void segment_softmax_backward_join(const offset* indptr, offset N,
                                                         offset slots, int team, real* partial) {
    Team my = team_of(team);
    for (offset t = first_item(team); any_lane(t < slots * K); t += item_stride(team)) {
        Unit unit;
        bool found = find_first_piece(t / K, indptr, N, slots, unit);
        real total = 0;
        for (offset p = my.rank; p < unit.pieces; p += team) total += partial[t + p * K];
        total = team_sum(my, total);
        if (my.rank == 0 && found) partial[t] = total;
    }
}

extern "C" __global__ void segment_softmax_backward_long(const real* weights, const real* grad,
                                                         const offset* indptr, offset N,
                                                         offset slots, real* out,
                                                         const real* partial) {
    for_each_unit(slots, indptr, N, slots, [=](const Unit& unit, Lane lane, bool found) {
        if (!found || lane.head >= K) return;
        real total = partial[(unit.slot - unit.piece) * K + lane.head];
        write_gradient(weights, grad, lane, total, out);
    });
}

// out[e, k] = <queries[i, k], keys[indices[e], k]> for every edge e of row i: the adjoint of
// segment_weighted_sum in the weights.
//
// Owner: a team of lanes owns (row or piece, head) and steps through d, so query and gathered
// keys are read in whole sectors; BATCH edges are under way together, and the query stays in the
// L1 cache. Pieces need no second pass: each edge is written once, by its own lane.
// Bytes: reads E*K*D keys, N*K*D queries, E indices, N + 1 indptr; writes E*K.

#define K GIVEN_K        // heads
#define D GIVEN_D        // numbers of a head
#define TEAM GIVEN_TEAM  // lanes

extern "C" __global__ void edge_dot(const real* queries,   // (N, K, D)
                                    const real* keys,      // (S, K, D)
                                    const offset* indptr,  // (N + 1,)
                                    const int* indices,    // (E,)
                                    offset N, offset slots,
                                    real* out) {           // (E, K)
    Team my = team_of(TEAM);
    for (offset item = first_item(TEAM); any_lane(item < (N + slots) * K);
         item += item_stride(TEAM)) {
        int k = item % K;
        Unit unit;
        find_unit(item / K, indptr, N, slots, unit);
        const real* query = queries + (unit.row * K + k) * D;
        const int* row = indices + unit.start;
        int count = unit.stop - unit.start;
        for (int e = 0; any_lane(e < count); e += BATCH) {
            real dots[BATCH] = {};
            if (e < count) {
                int sources[BATCH];
                load_sources(row + e, count - e, sources);
                dot_edges(my, query, 1, keys + k * D, sources, K * D, D, dots);
            }
            sum_edges(my, dots);
            for (int i = 0, b = my.rank; b < BATCH; ++i, b += owners(my))
                if (e + b < count) out[(unit.start + e + b) * K + k] = dots[i];
        }
    }
}

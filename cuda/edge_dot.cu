// out[e, k] = <queries[i, k], keys[indices[e], k]> for every edge e of row i: the adjoint of
// segment_weighted_sum in the weights.
//
// Owner: a team of lanes owns (row or piece, head) and steps through d, so query and gathered
// keys are read in whole sectors; BATCH edges are under way together, and the query stays in the
// L1 cache. Pieces need no second pass: each edge is written once, by lane 0 of its team.
// Bytes: reads E*K*D keys, N*K*D queries, E indices, N + 1 indptr; writes E*K.

extern "C" __global__ void edge_dot(const real* queries,   // (N, K, D)
                                    const real* keys,      // (S, K, D)
                                    const offset* indptr,  // (N + 1,)
                                    const int* indices,    // (E,)
                                    offset N, offset slots, int K, int D, int team,
                                    real* out) {           // (E, K)
    Team my = team_of(team);
    for (offset item = first_item(team); item < (N + slots) * K; item += item_stride(team)) {
        int k = item % K;
        Unit unit;
        if (!find_unit(item / K, indptr, N, slots, unit)) continue;  // the whole team
        const real* query = queries + (unit.row * K + k) * D;
        for (offset e = unit.start; e < unit.stop; e += BATCH) {
            real dots[BATCH];
            dot_edges(my, query, 1, keys, indices, e, unit.stop, K, k, D, dots);
            for (int b = 0; b < BATCH; ++b)
                if (my.rank == 0 && e + b < unit.stop) out[(e + b) * K + k] = dots[b];
        }
    }
}

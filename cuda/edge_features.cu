// feature_dot:  out[e, k] = sum over b of queries[i, b, k] * edges[e, b] for every edge e of row i
// feature_sum:  out[i, b, k] = sum over the edges e of row i of weights[e, k] * edges[e, b]: the
//               adjoint of feature_dot in the queries. Its adjoint in the edges is feature_dot
//               again, of queries whose axes b and k change places and of the gradient.
//
// Owner, feature_dot: a team of lanes owns a row or a piece of one and steps through its numbers
// (e, k), so stores coalesce; a lane reads a column of the queries, which its neighbours read too.
// Pieces need no second pass.
// Bytes: reads N*B*K queries, E*B edges (again for each head, from the cache), N + 1 indptr;
// writes E*K.
//
// Owner, feature_sum: a team of lanes owns (row or piece, feature, strip of heads); lanes step
// through the heads, so weights are read in whole sectors, and an edge's feature is one broadcast.
// Bytes: reads E*B*K weights (mostly from the cache), E*B edges, N + 1 indptr; writes N*B*K.

#define K GIVEN_K        // heads
#define B GIVEN_B        // features of an edge
#define TEAM GIVEN_TEAM  // lanes

extern "C" __global__ void feature_dot(const real* queries,   // (N, B, K)
                                       const real* edges,     // (E, B)
                                       const offset* indptr,  // (N + 1,)
                                       offset N, offset slots,
                                       real* out) {           // (E, K)
    Team my = team_of(TEAM);
    for (offset item = first_item(TEAM); item < N + slots; item += item_stride(TEAM)) {
        Unit unit;
        if (!find_unit(item, indptr, N, slots, unit)) continue;
        const real *query = queries + unit.row * (B * K), *first = edges + unit.start * B;
        int count = unit.stop - unit.start;
        for (int t = my.rank; t < count * K; t += TEAM) {
            int e = t / K, k = t % K;
            real total = 0;
            for (int b = 0; b < B; ++b) total += query[b * K + k] * first[e * B + b];
            out[unit.start * K + t] = total;
        }
    }
}

extern "C" __global__ void feature_sum(const real* weights,   // (E, K)
                                       const real* edges,     // (E, B)
                                       const offset* indptr,  // (N + 1,)
                                       offset N, offset slots,
                                       real* out,             // (N, B, K)
                                       real* partial) {       // (slots, B, K)
    sum_over_rows(indptr, N, slots, B, K, TEAM, out, partial,
                  [=](const Unit&, offset p, int b, int k) {
                      return Weighted{edges[p * B + b], load(weights + p * K + k)};
                  });
}

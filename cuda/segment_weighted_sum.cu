// out[i, k, d] = sum_{p in row i} weights[e, k] * values[indices[p], k, d],  e = edge_ids[p] or p
// Its own adjoint in `values`: pass the transposed block, whose edge_ids permute the weights.
//
// Owner: a team of lanes owns (row or piece, head, strip of d); a lane owns V neighbouring d and
// keeps their sums in registers. Lanes step through d, so each gathered row of values is read in
// whole sectors and a weight is one broadcast. No atomics: sum_pieces.cu adds pieces up in order.
// Bytes: reads E*K*D values, E*K weights, E indices and edge_ids, N + 1 indptr; writes N*K*D.

#define K GIVEN_K                // heads
#define D GIVEN_D                // numbers of a head
#define TEAM GIVEN_TEAM          // lanes
#define ID_BYTES GIVEN_ID_BYTES  // of an edge_id; 0: edge_ids[p] is p

extern "C" __global__ void segment_weighted_sum(
    const real* weights,   // (E, K)
    const real* values,    // (S, K, D)
    const offset* indptr,  // (N + 1,)
    const int* indices,    // (E,)
    const void* edge_ids,  // (E,)
    offset N, offset slots,
    real* out,             // (N, K, D)
    real* partial) {       // (slots, K, D)
    sum_over_rows(indptr, N, slots, K, D, TEAM, out, partial,
                  [=](const Unit&, offset p, int k, int d) {
                      return Weighted{of_edge_at(weights, edge_ids, ID_BYTES, p, K, k),
                                      load(row_at(values + k * D + d, indices[p], K * D))};
                  });
}

// out[i, k, d] = sum_{p in row i} weights[e, k] * values[indices[p], k, d],  e = edge_ids[p] or p
// Its own adjoint in `values`: pass the transposed block, whose edge_ids permute the weights.
//
// Owner: a team of lanes owns (row or piece, head, strip of d); a lane owns V neighbouring d and
// keeps their sums in registers. Lanes step through d, so each gathered row of values is read in
// whole sectors and a weight is one broadcast. No atomics: sum_pieces.cu adds pieces up in order.
// Bytes: reads E*K*D values, E*K weights, E indices and edge_ids, N + 1 indptr; writes N*K*D.

extern "C" __global__ void segment_weighted_sum(
    const real* weights,   // (E, K)
    const real* values,    // (S, K, D)
    const offset* indptr,  // (N + 1,)
    const int* indices,    // (E,)
    const void* edge_ids,  // (E,) integers of id_bytes; 0 bytes: the position itself
    int id_bytes, offset N, offset slots, int K, int D, int team,
    real* out,             // (N, K, D)
    real* partial) {       // (slots, K, D)
    sum_over_rows(indptr, N, slots, K, D, team, out, partial,
                  [=](Pack<real>& total, const Unit&, offset p, int k, int d) {
                      offset e = edge_id(edge_ids, id_bytes, p);
                      real weight = weights[e * K + k];
                      Pack<real> row = load(values + (offset(indices[p]) * K + k) * D + d);
                      for (int v = 0; v < V; ++v) total.x[v] += weight * row.x[v];
                  });
}

// forward:  out[i, f] = sum_{e in row i} values[indices[e], f] / |N_i|
// backward: out[j, f] = sum_{p in transposed row j} grad[i, f] / |N_i|,  i = t_indices[p]
//
// Owner: a team of lanes owns (row or piece, strip of f); a lane owns V neighbouring f. Lanes
// step through f, so gathered rows are read in whole sectors. sum_pieces.cu adds pieces up in
// order.
// Bytes: reads E*F numbers, E indices, N + 1 indptr (backward: 2*E indptr, mostly from the
// cache); writes N*F (backward: S*F).

extern "C" __global__ void segment_mean_forward(const real* values,    // (S, F)
                                                const offset* indptr,  // (N + 1,)
                                                const int* indices,    // (E,)
                                                offset N, offset slots, int F, int team,
                                                real* out,             // (N, F)
                                                real* partial) {       // (slots, F)
    sum_over_rows(indptr, N, slots, 1, F, team, out, partial,
                  [=](Pack<real>& total, const Unit& unit, offset p, int, int f) {
                      real share = real(1) / real(unit.degree);
                      Pack<real> row = load(values + offset(indices[p]) * F + f);
                      for (int v = 0; v < V; ++v) total.x[v] += share * row.x[v];
                  });
}

extern "C" __global__ void segment_mean_backward(const real* grad,        // (N, F)
                                                 const offset* indptr,    // (N + 1,)
                                                 const offset* t_indptr,  // (S + 1,)
                                                 const int* t_indices,    // (E,)
                                                 offset S, offset slots, int F, int team,
                                                 real* out,               // (S, F)
                                                 real* partial) {         // (slots, F)
    sum_over_rows(t_indptr, S, slots, 1, F, team, out, partial,
                  [=](Pack<real>& total, const Unit&, offset p, int, int f) {
                      offset i = t_indices[p];
                      real share = real(1) / real(indptr[i + 1] - indptr[i]);
                      Pack<real> row = load(grad + i * F + f);
                      for (int v = 0; v < V; ++v) total.x[v] += share * row.x[v];
                  });
}

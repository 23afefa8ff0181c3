// forward:  out[i, f] = sum_{e in row i} values[indices[e], f] / |N_i|
// backward: out[j, f] = sum_{p in transposed row j} grad[i, f] / |N_i|,  i = t_indices[p]
//
// Owner: a team of lanes owns (row or piece, strip of f); a lane owns V neighbouring f. Lanes
// step through f, so gathered rows are read in whole sectors. sum_pieces.cu adds pieces up in
// order.
// Bytes: reads E*F numbers, E indices, N + 1 indptr (backward: 2*E indptr, mostly from the
// cache); writes N*F (backward: S*F).

#define F GIVEN_F        // numbers of a row
#define TEAM GIVEN_TEAM  // lanes

extern "C" __global__ void segment_mean_forward(const real* values,    // (S, F)
                                                const offset* indptr,  // (N + 1,)
                                                const int* indices,    // (E,)
                                                offset N, offset slots,
                                                real* out,             // (N, F)
                                                real* partial) {       // (slots, F)
    sum_over_rows(indptr, N, slots, 1, F, TEAM, out, partial,
                  [=](const Unit& unit, offset p, int, int f) {
                      return Weighted{real(1) / real(unit.degree),
                                      load(row_at(values + f, indices[p], F))};
                  });
}

extern "C" __global__ void segment_mean_backward(const real* grad,        // (N, F)
                                                 const offset* indptr,    // (N + 1,)
                                                 const offset* t_indptr,  // (S + 1,)
                                                 const int* t_indices,    // (E,)
                                                 offset S, offset slots,
                                                 real* out,               // (S, F)
                                                 real* partial) {         // (slots, F)
    sum_over_rows(t_indptr, S, slots, 1, F, TEAM, out, partial,
                  [=](const Unit&, offset p, int, int f) {
                      int i = t_indices[p];
                      return Weighted{real(1) / real(indptr[i + 1] - indptr[i]),
                                      load(row_at(grad + f, i, F))};
                  });
}

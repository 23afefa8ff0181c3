// forward:  out[i, f] = max over row i of values[indices[e], f]; winners[i, f] the source of the
//           first edge that has it; 0 and -1 without edges. A NaN is the largest.
// backward: out[j, f] = sum of grad[i, f] over the destinations i with winners[i, f] == j
//
// Owner: a team of lanes owns (row or piece, strip of f); a lane owns V neighbouring f. Lanes
// step through f, so gathered rows are read in whole sectors. Equal edges are neighbours in a
// transposed row, so a source counts each of its destinations once by skipping repeats: no
// atomics.
// Bytes: forward reads E*F values, E indices, writes 2*N*F; backward reads up to 2*E*F (mostly
// winners, and grad where one matches), E indices, writes S*F. Both read indptr.

extern "C" __global__ void segment_max_forward(const real* values,    // (S, F)
                                               const offset* indptr,  // (N + 1,)
                                               const int* indices,    // (E,)
                                               offset N, offset slots, int F, int team,
                                               real* out,              // (N, F)
                                               int* winners,           // (N, F)
                                               real* partial,          // (slots, F)
                                               int* partial_winners) { // (slots, F)
    int rank = team_of(team).rank, strips = (F + team * V - 1) / (team * V);
    for (offset item = first_item(team); item < (N + slots) * strips; item += item_stride(team)) {
        int f = (item % strips * team + rank) * V;
        Unit unit;
        if (f >= F || !find_unit(item / strips, indptr, N, slots, unit)) continue;
        Pack<real> top = {};
        Pack<int> winner;
        for (int v = 0; v < V; ++v) winner.x[v] = -1;
#pragma unroll 4
        for (offset e = unit.start; e < unit.stop; ++e) {
            int j = indices[e];
            Pack<real> row = load(values + offset(j) * F + f);
            for (int v = 0; v < V; ++v) take_larger(row.x[v], j, top.x[v], winner.x[v]);
        }
        bool whole = unit.slot < 0;
        offset place = (whole ? unit.row : unit.slot) * F + f;
        store((whole ? out : partial) + place, top);
        store((whole ? winners : partial_winners) + place, winner);
    }
}

// Rows that were cut: a thread owns one number of a row and compares its pieces in order.
extern "C" __global__ void max_pieces(const real* partial, const int* partial_winners,
                                      const offset* indptr, offset N, offset slots, int F,
                                      real* out, int* winners) {
    for (offset t = first_item(1); t < slots * F; t += item_stride(1)) {
        offset slot = t / F, f = t % F;
        Unit unit;
        if (!find_unit(slot, indptr, N, slots, unit) || unit.piece != 0) continue;
        real top = 0;
        int winner = -1;
        for (offset p = slot; p < slot + unit.pieces; ++p)
            take_larger(partial[p * F + f], partial_winners[p * F + f], top, winner);
        out[unit.row * F + f] = top;
        winners[unit.row * F + f] = winner;
    }
}

extern "C" __global__ void segment_max_backward(const real* grad,        // (N, F)
                                                const int* winners,      // (N, F)
                                                const offset* t_indptr,  // (S + 1,)
                                                const int* t_indices,    // (E,) ascending in a row
                                                offset S, offset slots, int F, int team,
                                                real* out,               // (S, F)
                                                real* partial) {         // (slots, F)
    sum_over_rows(t_indptr, S, slots, 1, F, team, out, partial,
                  [=](Pack<real>& total, const Unit& unit, offset p, int, int f) {
                      int i = t_indices[p];
                      if (p > t_indptr[unit.row] && t_indices[p - 1] == i) return;
                      offset place = offset(i) * F + f;
                      Pack<int> winner = load(winners + place);
                      for (int v = 0; v < V; ++v)
                          if (winner.x[v] == unit.row) total.x[v] += grad[place + v];
                  });
}

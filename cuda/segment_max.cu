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

#define F GIVEN_F        // numbers of a row
#define TEAM GIVEN_TEAM  // lanes

struct Candidates {  // numbers of one edge, and its source
    int source;
    Pack<real> row;
};

extern "C" __global__ void segment_max_forward(const real* values,    // (S, F)
                                               const offset* indptr,  // (N + 1,)
                                               const int* indices,    // (E,)
                                               offset N, offset slots,
                                               real* out,              // (N, F)
                                               int* winners,           // (N, F)
                                               real* partial,          // (slots, F)
                                               int* partial_winners) { // (slots, F)
    const int rank = team_of(TEAM).rank, strips = (F + TEAM * V - 1) / (TEAM * V);
    for (offset item = first_item(TEAM); item < (N + slots) * strips; item += item_stride(TEAM)) {
        int f = (item % strips * TEAM + rank) * V;
        Unit unit;
        if (f >= F || !find_unit(item / strips, indptr, N, slots, unit)) continue;
        Pack<real> top = {};
        Pack<int> winner;
        for (int v = 0; v < V; ++v) winner.x[v] = -1;
        auto fetch = [=](offset e) {
            return Candidates{indices[e], load(row_at(values + f, indices[e], F))};
        };
        for_each_edge(unit, fetch, [&](const Candidates& x) {
            for (int v = 0; v < V; ++v) take_larger(x.row.x[v], x.source, top.x[v], winner.x[v]);
        });
        bool whole = unit.slot < 0;
        offset place = (whole ? unit.row : unit.slot) * F + f;
        store((whole ? out : partial) + place, top);
        store((whole ? winners : partial_winners) + place, winner);
    }
}

// Rows that were cut: a thread owns one number of a row and compares its pieces in order.
extern "C" __global__ void max_pieces(const real* partial, const int* partial_winners,
                                      const offset* indptr, offset N, offset slots,
                                      real* out, int* winners) {
    for (offset t = first_item(1); t < slots * F; t += item_stride(1)) {
        offset slot = t / F, f = t % F;
        Unit unit;
        if (!find_first_piece(slot, indptr, N, slots, unit)) continue;
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
                                                offset S, offset slots,
                                                real* out,               // (S, F)
                                                real* partial) {         // (slots, F)
    sum_over_rows(t_indptr, S, slots, 1, F, TEAM, out, partial,
                  [=](const Unit& unit, offset p, int, int f) {
                      int i = t_indices[p];
                      bool repeated = p > unit.first && t_indices[p - 1] == i;
                      int counts = repeated ? -1 : int(unit.row);  // row i has edges, and a winner
                      Pack<int> winner = load(row_at(winners + f, i, F));
                      const real* from = row_at(grad + f, i, F);
                      Weighted won = {1, {}};
                      for (int v = 0; v < V; ++v)
                          if (winner.x[v] == counts) won.row.x[v] = from[v];
                      return won;
                  });
}

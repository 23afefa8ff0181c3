// out[i] = the sum of row i's pieces for the rows that were cut: every kernel made of
// `sum_over_rows` leaves them to this one.
//
// Owner: a team of lanes owns one number of a row; a lane adds every team-th piece, then they meet
// in a tree: the order depends on the numbers of pieces and lanes only. Only a row's first slot has
// work. Teams next to each other own neighbouring numbers.
// Bytes: reads slots * width numbers, writes at most as many.

extern "C" __global__ void sum_pieces(const real* partial,  // (slots, width)
                                      const offset* indptr, offset N, offset slots, int width,
                                      int team, real* out) {  // (N, width)
    Team my = team_of(team);
    for (offset t = first_item(team); any_lane(t < slots * width); t += item_stride(team)) {
        offset slot = t / width;
        int column = t - slot * width;
        Unit unit;
        bool found = find_first_piece(slot, indptr, N, slots, unit);
        real total = 0;
        for (offset p = my.rank; p < unit.pieces; p += team)
            total += partial[(slot + p) * width + column];
        total = team_sum(my, total);
        if (my.rank == 0 && found) out[unit.row * width + column] = total;
    }
}

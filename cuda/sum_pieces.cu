// out[i] = the sum of row i's pieces, in order, for the rows that were cut: every kernel made of
// `sum_over_rows` leaves them to this one.
//
// Owner: a thread owns one number of a row, neighbours own neighbouring numbers: loads and stores
// coalesce. Only a row's first slot has work.
// Bytes: reads slots * width numbers, writes at most as many.

extern "C" __global__ void sum_pieces(const real* partial,  // (slots, width)
                                      const offset* indptr, offset N, offset slots, int width,
                                      real* out) {          // (N, width)
    for (offset t = first_item(1); t < slots * width; t += item_stride(1)) {
        offset slot = t / width, column = t % width;
        Unit unit;
        if (!find_unit(slot, indptr, N, slots, unit) || unit.piece != 0) continue;
        real total = 0;
        for (offset p = 0; p < unit.pieces; ++p) total += partial[(slot + p) * width + column];
        out[unit.row * width + column] = total;
    }
}

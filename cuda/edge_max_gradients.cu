// The gradients of edge_max.cu, where places[i, f] says which edge of row i won:
//
// values:      grad_values[j, f] = sum of grad[i, f] over the edges from j that won
// projection:  grad_projection[b, f] = sum over rows of grad[i, f] * edges[e, b], e that won (i, f)
// edges:       grad_edges[e, b] = sum over the f that e won of grad[i, f] * projection[b, f]
//
// Owner, values: as in segment_max.cu, a team owns (row or piece, strip of f). projection: a thread
// owns (chunk of rows, feature, f); neighbours step through f, so loads coalesce but for the edges
// that won; column_sums in elementwise.cu adds the chunks up in order. edges: a team owns a row or
// piece and steps through (e, b).
// Bytes: reads N*F grad and places (values: E*F); each writes what it is named for.

#define F GIVEN_F                // numbers of a row
#define B GIVEN_B                // features of an edge
#define TEAM GIVEN_TEAM          // lanes
#define ID_BYTES GIVEN_ID_BYTES  // of an edge_id

extern "C" __global__ void edge_max_values(const real* grad,        // (N, F)
                                           const int* places,       // (N, F)
                                           const offset* indptr,    // (N + 1,)
                                           const offset* t_indptr,  // (S + 1,)
                                           const int* t_indices,    // (E,)
                                           const void* t_edge_ids,  // (E,) integers of ID_BYTES
                                           offset S, offset slots,
                                           real* out,               // (S, F)
                                           real* partial) {         // (slots, F)
    sum_over_rows(t_indptr, S, slots, 1, F, TEAM, out, partial,
                  [=](const Unit&, offset p, int, int f) {
                      int i = t_indices[p], place = edge_id(t_edge_ids, ID_BYTES, p) - indptr[i];
                      Pack<int> won = load(row_at(places + f, i, F));
                      const real* from = row_at(grad + f, i, F);
                      Weighted found = {1, {}};
                      for (int v = 0; v < V; ++v)
                          if (won.x[v] == place) found.row.x[v] = from[v];
                      return found;
                  });
}

extern "C" __global__ void edge_max_projection(const real* grad,      // (N, F)
                                               const int* places,     // (N, F)
                                               const real* edges,     // (E, B)
                                               const offset* indptr,  // (N + 1,)
                                               offset N, offset chunk,
                                               real* partial) {       // (chunks, B, F)
    offset chunks = (N + chunk - 1) / chunk;
    for (offset t = first_item(1); t < chunks * B * F; t += item_stride(1)) {
        int f = t % F, b = t / F % B;
        offset first = t / F / B * chunk, stop = min(first + chunk, N);
        real total = 0;
        for (offset i = first; i < stop; ++i) {
            int place = places[i * F + f];
            if (place >= 0) total += grad[i * F + f] * edges[(indptr[i] + place) * B + b];
        }
        partial[t] = total;
    }
}

extern "C" __global__ void edge_max_edges(const real* grad,        // (N, F)
                                          const int* places,       // (N, F)
                                          const real* projection,  // (B, F)
                                          const offset* indptr,    // (N + 1,)
                                          offset N, offset slots, int team,
                                          real* grad_edges) {      // (E, B)
    Team my = team_of(team);
    for (offset item = first_item(team); item < N + slots; item += item_stride(team)) {
        Unit unit;
        if (!find_unit(item, indptr, N, slots, unit)) continue;
        const int* won = places + unit.row * F;
        const real* row = grad + unit.row * F;
        int before = unit.start - unit.first, count = unit.stop - unit.start;
        for (int t = my.rank; t < count * B; t += team) {
            int place = before + t / B, b = t % B;
            real total = 0;
            for (int f = 0; f < F; ++f)
                if (won[f] == place) total += row[f] * projection[b * F + f];
            grad_edges[unit.start * B + t] = total;
        }
    }
}

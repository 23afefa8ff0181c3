// forward:     out[i, f] = max over the edges e of row i of u[e, f], with u[e] = values[j] +
//              edges[e] @ projection for e from source j, made in registers; places[i, f] the first
//              edge that has it, counted from the row's first; 0 and -1 without edges. A NaN is the
//              largest. max_pieces in segment_max.cu compares the pieces of rows that were cut.
// values:      grad_values[j, f] = sum of grad[i, f] over the edges from j that won
// projection:  grad_projection[b, f] = sum over rows of grad[i, f] * edges[e, b], e that won (i, f)
// edges:       grad_edges[e, b] = sum over the f that e won of grad[i, f] * projection[b, f]
//
// Owner, forward and values: as in segment_max.cu, a team owns (row or piece, strip of f).
// projection: a thread owns (chunk of rows, feature, f); neighbours step through f, so loads
// coalesce but for the edges that won; column_sums in elementwise.cu adds the chunks up in order.
// edges: a team owns a row or piece and steps through (e, b).
// Bytes: forward reads E*F values, E*B edges, B*F of the projection (from the cache), E indices,
// and writes 2*N*F; the gradients read N*F grad and places (values: E*F), and write what they are
// named for.

extern "C" __global__ void edge_max_forward(
    const real* values,      // (S, F)
    const real* edges,       // (E, B)
    const real* projection,  // (B, F)
    const offset* indptr, const int* indices, int B, offset N, offset slots, int F, int team,
    real* out,               // (N, F)
    int* places,             // (N, F)
    real* partial,           // (slots, F)
    int* partial_places) {   // (slots, F)
    int rank = team_of(team).rank, strips = (F + team * V - 1) / (team * V);
    for (offset item = first_item(team); item < (N + slots) * strips; item += item_stride(team)) {
        int f = (item % strips * team + rank) * V;
        Unit unit;
        if (f >= F || !find_unit(item / strips, indptr, N, slots, unit)) continue;
        Pack<real> top = {};
        Pack<int> place;
        for (int v = 0; v < V; ++v) place.x[v] = -1;
        for (offset e = unit.start; e < unit.stop; ++e) {
            Pack<real> u = edge_value(values, edges, projection, indices[e], e, B, F, f);
            for (int v = 0; v < V; ++v)
                take_larger(u.x[v], int(e - indptr[unit.row]), top.x[v], place.x[v]);
        }
        bool whole = unit.slot < 0;
        offset at = (whole ? unit.row : unit.slot) * F + f;
        store((whole ? out : partial) + at, top);
        store((whole ? places : partial_places) + at, place);
    }
}

extern "C" __global__ void edge_max_values(const real* grad,        // (N, F)
                                           const int* places,       // (N, F)
                                           const offset* indptr,    // (N + 1,)
                                           const offset* t_indptr,  // (S + 1,)
                                           const int* t_indices,    // (E,)
                                           const void* t_edge_ids,  // (E,) integers of id_bytes
                                           int id_bytes, offset S, offset slots, int F, int team,
                                           real* out,               // (S, F)
                                           real* partial) {         // (slots, F)
    sum_over_rows(t_indptr, S, slots, 1, F, team, out, partial,
                  [=](Pack<real>& total, const Unit&, offset p, int, int f) {
                      offset i = t_indices[p], place = edge_id(t_edge_ids, id_bytes, p) - indptr[i];
                      Pack<int> won = load(places + i * F + f);
                      for (int v = 0; v < V; ++v)
                          if (won.x[v] == place) total.x[v] += grad[i * F + f + v];
                  });
}

extern "C" __global__ void edge_max_projection(const real* grad,      // (N, F)
                                               const int* places,     // (N, F)
                                               const real* edges,     // (E, B)
                                               const offset* indptr,  // (N + 1,)
                                               int B, offset N, offset chunk, int F,
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
                                          int B, offset N, offset slots, int F, int team,
                                          real* grad_edges) {      // (E, B)
    Team my = team_of(team);
    for (offset item = first_item(team); item < N + slots; item += item_stride(team)) {
        Unit unit;
        if (!find_unit(item, indptr, N, slots, unit)) continue;
        for (offset t = unit.start * B + my.rank; t < unit.stop * B; t += team) {
            offset place = t / B - indptr[unit.row];
            real total = 0;
            for (int f = 0; f < F; ++f)
                if (places[unit.row * F + f] == place)
                    total += grad[unit.row * F + f] * projection[t % B * F + f];
            grad_edges[t] = total;
        }
    }
}

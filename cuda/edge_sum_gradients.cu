// The rest of the gradients of edge_sum.cu: with u[e] = values[j] + edges[e] @ projection made
// again, and dh[e, k] the derivative of leaky ReLU there,
//
// values:      grad_values[j, k] = sum over j's edges of weights[e, k] * dh[e, k] * grad[i, k]
// projection:  grad_projection[b, k] = sum over edges of edges[e, b] * weights * dh * grad[i, k]
// edges:       grad_edges[e, b] = sum over k of weights * <dh * grad[i, k], projection[b, k]>
//
// Owner, values: a team of lanes owns (row or piece, head, strip of d). projection: a thread owns
// (chunk of edges, BATCH features, V columns): neighbours step through columns, so all loads
// coalesce; column_sums in elementwise.cu adds the chunks up in order. edges: a team owns a row or
// piece and steps through all columns, for BATCH features at once. No atomics.
// Bytes: each reads E*K*D values and grad, E*B edges, B*K*D of the projection (from the cache) and
// E*K weights, projection and edges once for BATCH features; each writes what it is named for.

#define K GIVEN_K                // heads
#define D GIVEN_D                // numbers of a head
#define B GIVEN_B                // features of an edge
#define TEAM GIVEN_TEAM          // lanes
#define ID_BYTES GIVEN_ID_BYTES  // of an edge_id

extern "C" __global__ void edge_sum_values(
    const real* grad,        // (N, K, D)
    const real* weights,     // (E, K)
    const real* values,      // (S, K, D)
    const real* edges,       // (E, B)
    const real* projection,  // (B, K, D)
    const offset* t_indptr,  // (S + 1,)
    const int* t_indices,    // (E,)
    const void* t_edge_ids,  // (E,) integers of ID_BYTES
    real slope, offset S, offset slots,
    real* out,               // (S, K, D)
    real* partial) {         // (slots, K, D)
    sum_over_rows(t_indptr, S, slots, K, D, TEAM, out, partial,
                  [=](const Unit& unit, offset p, int k, int d) {
                      offset e = edge_id(t_edge_ids, ID_BYTES, p);
                      Pack<real> u = edge_value(values, edges, projection, unit.row, e, B, K * D,
                                                k * D + d);
                      Pack<real> g = load(row_at(grad + k * D + d, t_indices[p], K * D));
                      for (int v = 0; v < V; ++v) g.x[v] *= slope_at(u.x[v], slope);
                      return Weighted{*row_at(weights + k, e, K), g};
                  });
}

extern "C" __global__ void edge_sum_projection(
    const real* grad,        // (N, K, D)
    const real* weights,     // (E, K)
    const real* values,      // (S, K, D)
    const real* edges,       // (E, B)
    const real* projection,  // (B, K, D)
    const offset* indptr, const int* indices, real slope, offset N, offset E, offset chunk,
    real* partial) {         // (chunks, B, K * D)
    const int width = K * D, packs = width / V, groups = (B + BATCH - 1) / BATCH;
    offset chunks = (E + chunk - 1) / chunk;
    for (offset t = first_item(1); t < chunks * groups * packs; t += item_stride(1)) {
        int column = t % packs * V, b = t / packs % groups * BATCH;
        offset group = t / packs / groups, first = group * chunk, stop = min(first + chunk, E);
        offset row = row_of_edge(first, indptr, N);
        Pack<real> total[BATCH] = {};
        for (offset e = first; e < stop; ++e) {
            while (e >= indptr[row + 1]) ++row;
            Pack<real> u = edge_value(values, edges, projection, indices[e], e, B, width, column);
            Pack<real> g = load(grad + row * width + column);
            real weight = weights[e * K + column / D];
            for (int v = 0; v < V; ++v) g.x[v] *= weight * slope_at(u.x[v], slope);
            for (int i = 0; i < BATCH && b + i < B; ++i)
                for (int v = 0; v < V; ++v) total[i].x[v] += edges[e * B + b + i] * g.x[v];
        }
        for (int i = 0; i < BATCH && b + i < B; ++i)
            store(partial + (group * B + b + i) * width + column, total[i]);
    }
}

extern "C" __global__ void edge_sum_edges(
    const real* grad,        // (N, K, D)
    const real* weights,     // (E, K)
    const real* values,      // (S, K, D)
    const real* edges,       // (E, B)
    const real* projection,  // (B, K, D)
    const offset* indptr, const int* indices, real slope, offset N, offset slots,
    real* grad_edges) {      // (E, B)
    Team my = team_of(TEAM);
    const int width = K * D;
    for (offset item = first_item(TEAM); any_lane(item < N + slots); item += item_stride(TEAM)) {
        Unit unit;
        find_unit(item, indptr, N, slots, unit);
        for (offset e = unit.start; any_lane(e < unit.stop); ++e) {
            for (int b = 0; b < B; b += BATCH) {
                real dots[BATCH] = {};
                for (int column = my.rank * V; column < width && e < unit.stop;
                     column += TEAM * V) {
                    Pack<real> u = edge_value(values, edges, projection, indices[e], e, B, width,
                                              column);
                    Pack<real> g = load(grad + unit.row * width + column);
                    real weight = weights[e * K + column / D];
                    for (int v = 0; v < V; ++v) g.x[v] *= weight * slope_at(u.x[v], slope);
                    for (int i = 0; i < BATCH && b + i < B; ++i) {
                        Pack<real> row = load(projection + (b + i) * width + column);
                        for (int v = 0; v < V; ++v) dots[i] += g.x[v] * row.x[v];
                    }
                }
                sum_edges(my, dots);
                for (int i = 0, f = b + my.rank; i * owners(my) + my.rank < BATCH;
                     ++i, f += owners(my))
                    if (f < B && e < unit.stop) grad_edges[e * B + f] = dots[i];
            }
        }
    }
}

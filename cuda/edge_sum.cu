// What edge e from source j brings to head k is h(u[e, k]), h = leaky ReLU and u[e] = values[j]
// + edges[e] @ projection; dh[e, k] is its derivative there. u is made in registers, where it is
// needed, and made again in the backward pass: E*K*D numbers are never stored.
//
// forward:     out[i, k] = sum over the edges e = (i, j) of weights[e, k] * h(u[e, k])
// weights:     grad_weights[e, k] = <grad[i, k], h(u[e, k])>
// values:      grad_values[j, k] = sum over j's edges of weights[e, k] * dh[e, k] * grad[i, k]
// projection:  grad_projection[b, k] = sum over edges of edges[e, b] * weights * dh * grad[i, k]
// edges:       grad_edges[e, b] = sum over k of weights * <dh * grad[i, k], projection[b, k]>
//
// Owner, forward and values: a team of lanes owns (row or piece, head, strip of d), as in
// segment_weighted_sum.cu. weights: a team owns (row or piece, head) and steps through d. edges: a
// team owns a row or piece and steps through all columns, once for each feature. projection: a
// thread owns (chunk of edges, feature, V columns): neighbours step through columns, so all loads
// coalesce; column_sums in elementwise.cu adds the chunks up in order. No atomics.
// Bytes: each reads E*K*D values, E*B edges, B*K*D of the projection (from the cache) and E*K
// weights, the gradients E*K*D of grad as well; each writes what it is named for.

extern "C" __global__ void edge_sum_forward(
    const real* weights,     // (E, K)
    const real* values,      // (S, K, D)
    const real* edges,       // (E, B)
    const real* projection,  // (B, K, D)
    const offset* indptr,    // (N + 1,)
    const int* indices,      // (E,)
    int B, real slope, offset N, offset slots, int K, int D, int team,
    real* out,               // (N, K, D)
    real* partial) {         // (slots, K, D)
    sum_over_rows(indptr, N, slots, K, D, team, out, partial,
                  [=](Pack<real>& total, const Unit&, offset p, int k, int d) {
                      Pack<real> u = edge_value(values, edges, projection, indices[p], p, B, K * D,
                                                k * D + d);
                      real weight = weights[p * K + k];
                      for (int v = 0; v < V; ++v)
                          total.x[v] += weight * (slope_at(u.x[v], slope) * u.x[v]);
                  });
}

extern "C" __global__ void edge_sum_weights(
    const real* grad,        // (N, K, D)
    const real* values,      // (S, K, D)
    const real* edges,       // (E, B)
    const real* projection,  // (B, K, D)
    const offset* indptr, const int* indices, int B, real slope, offset N, offset slots, int K,
    int D, int team,
    real* grad_weights) {    // (E, K)
    Team my = team_of(team);
    for (offset item = first_item(team); item < (N + slots) * K; item += item_stride(team)) {
        int k = item % K;
        Unit unit;
        if (!find_unit(item / K, indptr, N, slots, unit)) continue;  // the whole team
        const real* row = grad + (unit.row * K + k) * D;
        for (offset e = unit.start; e < unit.stop; ++e) {
            real total = 0;
            for (int d = my.rank * V; d < D; d += team * V) {
                Pack<real> g = load(row + d);
                Pack<real> u = edge_value(values, edges, projection, indices[e], e, B, K * D,
                                          k * D + d);
                for (int v = 0; v < V; ++v)
                    total += g.x[v] * (slope_at(u.x[v], slope) * u.x[v]);
            }
            total = team_sum(my, total);
            if (my.rank == 0) grad_weights[e * K + k] = total;
        }
    }
}

extern "C" __global__ void edge_sum_values(
    const real* grad,        // (N, K, D)
    const real* weights,     // (E, K)
    const real* values,      // (S, K, D)
    const real* edges,       // (E, B)
    const real* projection,  // (B, K, D)
    const offset* t_indptr,  // (S + 1,)
    const int* t_indices,    // (E,)
    const void* t_edge_ids,  // (E,) integers of id_bytes
    int id_bytes, int B, real slope, offset S, offset slots, int K, int D, int team,
    real* out,               // (S, K, D)
    real* partial) {         // (slots, K, D)
    sum_over_rows(t_indptr, S, slots, K, D, team, out, partial,
                  [=](Pack<real>& total, const Unit& unit, offset p, int k, int d) {
                      offset e = edge_id(t_edge_ids, id_bytes, p);
                      Pack<real> u = edge_value(values, edges, projection, unit.row, e, B, K * D,
                                                k * D + d);
                      Pack<real> g = load(grad + (offset(t_indices[p]) * K + k) * D + d);
                      real weight = weights[e * K + k];
                      for (int v = 0; v < V; ++v)
                          total.x[v] += weight * slope_at(u.x[v], slope) * g.x[v];
                  });
}

extern "C" __global__ void edge_sum_projection(
    const real* grad,        // (N, K, D)
    const real* weights,     // (E, K)
    const real* values,      // (S, K, D)
    const real* edges,       // (E, B)
    const real* projection,  // (B, K, D)
    const offset* indptr, const int* indices, int B, real slope, offset N, offset E, offset chunk,
    int K, int D,
    real* partial) {         // (chunks, B, K * D)
    int width = K * D, packs = width / V;
    offset chunks = (E + chunk - 1) / chunk;
    for (offset t = first_item(1); t < chunks * B * packs; t += item_stride(1)) {
        int column = t % packs * V, b = t / packs % B;
        offset first = t / packs / B * chunk, stop = min(first + chunk, E);
        offset row = row_of_edge(first, indptr, N);
        Pack<real> total = {};
        for (offset e = first; e < stop; ++e) {
            while (e >= indptr[row + 1]) ++row;
            Pack<real> u = edge_value(values, edges, projection, indices[e], e, B, width, column);
            Pack<real> g = load(grad + row * width + column);
            real share = edges[e * B + b] * weights[e * K + column / D];
            for (int v = 0; v < V; ++v) total.x[v] += share * slope_at(u.x[v], slope) * g.x[v];
        }
        store(partial + t * V, total);
    }
}

extern "C" __global__ void edge_sum_edges(
    const real* grad,        // (N, K, D)
    const real* weights,     // (E, K)
    const real* values,      // (S, K, D)
    const real* edges,       // (E, B)
    const real* projection,  // (B, K, D)
    const offset* indptr, const int* indices, int B, real slope, offset N, offset slots, int K,
    int D, int team,
    real* grad_edges) {      // (E, B)
    Team my = team_of(team);
    int width = K * D;
    for (offset item = first_item(team); item < N + slots; item += item_stride(team)) {
        Unit unit;
        if (!find_unit(item, indptr, N, slots, unit)) continue;  // the whole team
        for (offset e = unit.start; e < unit.stop; ++e) {
            for (int b = 0; b < B; ++b) {
                real total = 0;
                for (int column = my.rank * V; column < width; column += team * V) {
                    Pack<real> u = edge_value(values, edges, projection, indices[e], e, B, width,
                                              column);
                    Pack<real> g = load(grad + unit.row * width + column);
                    Pack<real> of_b = load(projection + offset(b) * width + column);
                    real weight = weights[e * K + column / D];
                    for (int v = 0; v < V; ++v)
                        total += weight * slope_at(u.x[v], slope) * g.x[v] * of_b.x[v];
                }
                total = team_sum(my, total);
                if (my.rank == 0) grad_edges[e * B + b] = total;
            }
        }
    }
}

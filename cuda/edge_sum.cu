// What edge e from source j brings to head k is h(u[e, k]), h = leaky ReLU and u[e] = values[j]
// + edges[e] @ projection. u is made in registers, where it is
// needed, and made again in the backward pass: E*K*D numbers are never stored.
//
// forward:     out[i, k] = sum over the edges e = (i, j) of weights[e, k] * h(u[e, k])
// weights:     grad_weights[e, k] = <grad[i, k], h(u[e, k])>
// The other gradients: edge_sum_gradients.cu.
//
// Owner, forward: a team of lanes owns (row or piece, head, strip of d), as in
// segment_weighted_sum.cu. weights: a team owns (row or piece, head) and steps through d, with
// BATCH edges under way together. No atomics.
// Bytes: each reads E*K*D values, E*B edges, B*K*D of the projection (from the cache) and E*K
// weights, `weights` E*K*D of grad as well; each writes what it is named for.

#define K GIVEN_K        // heads
#define D GIVEN_D        // numbers of a head
#define B GIVEN_B        // features of an edge
#define TEAM GIVEN_TEAM  // lanes

// leaky ReLU
__device__ __forceinline__ Pack<real> activated(Pack<real> u, real slope) {
    for (int v = 0; v < V; ++v) u.x[v] *= slope_at(u.x[v], slope);
    return u;
}

extern "C" __global__ void edge_sum_forward(
    const real* weights,     // (E, K)
    const real* values,      // (S, K, D)
    const real* edges,       // (E, B)
    const real* projection,  // (B, K, D)
    const offset* indptr,    // (N + 1,)
    const int* indices,      // (E,)
    real slope, offset N, offset slots,
    real* out,               // (N, K, D)
    real* partial) {         // (slots, K, D)
    sum_over_rows(indptr, N, slots, K, D, TEAM, out, partial,
                  [=](const Unit&, offset p, int k, int d) {
                      Pack<real> u = edge_value(values, edges, projection, indices[p], p, B, K * D,
                                                k * D + d);
                      return Weighted{weights[p * K + k], activated(u, slope)};
                  });
}

extern "C" __global__ void edge_sum_weights(
    const real* grad,        // (N, K, D)
    const real* values,      // (S, K, D)
    const real* edges,       // (E, B)
    const real* projection,  // (B, K, D)
    const offset* indptr, const int* indices, real slope, offset N, offset slots,
    real* grad_weights) {    // (E, K)
    Team my = team_of(TEAM);
    for (offset item = first_item(TEAM); any_lane(item < (N + slots) * K);
         item += item_stride(TEAM)) {
        int k = item % K;
        Unit unit;
        find_unit(item / K, indptr, N, slots, unit);
        const real* row = grad + (unit.row * K + k) * D;
        int count = unit.stop - unit.start;
        for (int n = 0; any_lane(n < count); n += BATCH) {
            real dots[BATCH] = {};
            for (int d = my.rank * V; d < D && n < count; d += TEAM * V) {
                Pack<real> g = load(row + d);
                for (int b = 0; b < BATCH; ++b) {
                    offset e = unit.start + min(n + b, count - 1);
                    Pack<real> u = activated(edge_value(values, edges, projection, indices[e], e, B,
                                                        K * D, k * D + d), slope);
                    for (int v = 0; v < V; ++v) dots[b] += g.x[v] * u.x[v];
                }
            }
            sum_edges(my, dots);
            for (int i = 0, b = my.rank; b < BATCH; ++i, b += owners(my))
                if (n + b < count) grad_weights[(unit.start + n + b) * K + k] = dots[i];
        }
    }
}

// forward:  out[r, d] = heads[r, d] * gates[r] for every row r of the N * K (node, head) pairs
// backward: grad_heads[r, d] = grad[r, d] * gates[r];  grad_gates[r] = <grad[r], heads[r]>
//
// Owner: a team of lanes owns a row; a lane steps through d, V neighbouring numbers at a time, so
// loads and stores coalesce and the gate is one broadcast.
// Bytes: forward reads and writes N*K*D; backward reads 2*N*K*D and writes N*K*D; and N*K gates.

#define D GIVEN_D        // numbers of a head
#define TEAM GIVEN_TEAM  // lanes

extern "C" __global__ void scale_heads_forward(const real* heads, const real* gates, offset rows,
                                               real* out) {
    Team my = team_of(TEAM);
    for (offset row = first_item(TEAM); row < rows; row += item_stride(TEAM)) {
        for (int d = my.rank * V; d < D; d += TEAM * V) {
            Pack<real> x = load(heads + row * D + d);
            for (int v = 0; v < V; ++v) x.x[v] *= gates[row];
            store(out + row * D + d, x);
        }
    }
}

extern "C" __global__ void scale_heads_backward(const real* grad, const real* heads,
                                                const real* gates, offset rows, real* grad_heads,
                                                real* grad_gates) {
    Team my = team_of(TEAM);
    for (offset row = first_item(TEAM); any_lane(row < rows); row += item_stride(TEAM)) {
        real total = 0;
        for (int d = my.rank * V; d < D && row < rows; d += TEAM * V) {
            Pack<real> g = load(grad + row * D + d), x = load(heads + row * D + d);
            for (int v = 0; v < V; ++v) {
                total += g.x[v] * x.x[v];
                g.x[v] *= gates[row];
            }
            store(grad_heads + row * D + d, g);
        }
        total = team_sum(my, total);
        if (my.rank == 0 && row < rows) grad_gates[row] = total;
    }
}

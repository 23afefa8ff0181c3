// forward:  u = sigmoid(x_u + h_u), r = sigmoid(x_r + h_r), c = leaky_relu(x_c + r * h_c),
//           out = c + u * (h - c)
// backward: with g = grad,  grad_h = g u,  grad_u = g (h - c) u (1 - u),
//           grad_c = g (1 - u) (1 where c > 0, else slope),  grad_hc = grad_c r,
//           grad_r = grad_c h_c r (1 - r)
//
// Owner: a thread owns V neighbouring numbers and steps by the size of the grid; neighbours own
// neighbouring ones, so every access coalesces. V divides `size`.
// Bytes: forward reads 7 and writes 4 arrays of `size` numbers; backward reads 6 and writes 5.

// e^-|x| never overflows.
static __device__ real sigmoid(real x) {
    real e = exp(-fabs(x));
    return (x >= 0 ? real(1) : e) / (1 + e);
}

extern "C" __global__ void gru_update_forward(const real* x_u, const real* x_r, const real* x_c,
                                              const real* h_u, const real* h_r, const real* h_c,
                                              const real* h, offset size, real slope, real* u,
                                              real* r, real* c, real* out) {
    for (offset t = first_item(1) * V; t < size; t += item_stride(1) * V) {
        Pack<real> a = load(x_u + t), b = load(h_u + t), update, reset, next;
        for (int v = 0; v < V; ++v) update.x[v] = sigmoid(a.x[v] + b.x[v]);
        a = load(x_r + t), b = load(h_r + t);
        for (int v = 0; v < V; ++v) reset.x[v] = sigmoid(a.x[v] + b.x[v]);
        a = load(x_c + t), b = load(h_c + t);
        for (int v = 0; v < V; ++v) {
            real sum = a.x[v] + reset.x[v] * b.x[v];
            next.x[v] = sum > 0 ? sum : slope * sum;
        }
        a = load(h + t);
        for (int v = 0; v < V; ++v) a.x[v] = next.x[v] + update.x[v] * (a.x[v] - next.x[v]);
        store(u + t, update);
        store(r + t, reset);
        store(c + t, next);
        store(out + t, a);
    }
}

extern "C" __global__ void gru_update_backward(const real* grad, const real* h_c, const real* h,
                                               const real* u, const real* r, const real* c,
                                               offset size, real slope, real* grad_u,
                                               real* grad_r, real* grad_c, real* grad_hc,
                                               real* grad_h) {
    for (offset t = first_item(1) * V; t < size; t += item_stride(1) * V) {
        Pack<real> g = load(grad + t), state = load(h + t), remembered = load(h_c + t);
        Pack<real> update = load(u + t), reset = load(r + t), next = load(c + t);
        Pack<real> to_u, to_r, to_c, to_hc, to_h;
        for (int v = 0; v < V; ++v) {
            real keep = update.x[v], open = reset.x[v];
            real before = g.x[v] * (1 - keep) * (next.x[v] > 0 ? real(1) : slope);
            to_h.x[v] = g.x[v] * keep;
            to_u.x[v] = g.x[v] * (state.x[v] - next.x[v]) * keep * (1 - keep);
            to_c.x[v] = before;
            to_hc.x[v] = before * open;
            to_r.x[v] = before * remembered.x[v] * open * (1 - open);
        }
        store(grad_u + t, to_u);
        store(grad_r + t, to_r);
        store(grad_c + t, to_c);
        store(grad_hc + t, to_hc);
        store(grad_h + t, to_h);
    }
}

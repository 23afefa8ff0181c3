// bias and leaky ReLU after a product and before its gradient, sigmoid, dropout, and Adam's step.
//
// Owner: a thread owns V neighbouring numbers of `size` (or a column, where columns are summed) and
// steps by the size of the grid; neighbours own neighbouring ones, so every access coalesces.
// V divides `size`, and G where rows have a bias.

// out = leaky_relu(out + bias), in place. Bytes: reads and writes rows * G numbers.
extern "C" __global__ void add_bias_leaky_relu(real* out,         // (rows, G)
                                               const real* bias,  // (G,)
                                               offset size, int G, real slope) {
    for (offset t = first_item(1) * V; t < size; t += item_stride(1) * V) {
        Pack<real> x = load(out + t), b = load(bias + t % G);
        for (int v = 0; v < V; ++v) {
            real sum = x.x[v] + b.x[v];
            x.x[v] = sum > 0 ? sum : slope * sum;
        }
        store(out + t, x);
    }
}

// grad_x = grad * (1 where out > 0, else slope). Bytes: reads 2 * size numbers, writes size.
extern "C" __global__ void leaky_relu_backward(const real* grad, const real* out, offset size,
                                               real slope, real* grad_x) {
    for (offset t = first_item(1) * V; t < size; t += item_stride(1) * V) {
        Pack<real> g = load(grad + t), y = load(out + t);
        for (int v = 0; v < V; ++v) g.x[v] *= y.x[v] > 0 ? real(1) : slope;
        store(grad_x + t, g);
    }
}

// out[g] = sum of x[:, g], in order. Bytes: reads rows * G numbers.
extern "C" __global__ void column_sums(const real* x, offset rows, int G, real* out) {
    for (offset g = first_item(1); g < G; g += item_stride(1)) {
        real total = 0;
        for (offset i = 0; i < rows; ++i) total += x[i * G + g];
        out[g] = total;
    }
}

// out = 1 / (1 + e^-x), as (1 + tanh(x / 2)) / 2, which cannot overflow.
// Bytes: reads and writes size numbers.
extern "C" __global__ void sigmoid_forward(const real* x, offset size, real* out) {
    for (offset t = first_item(1) * V; t < size; t += item_stride(1) * V) {
        Pack<real> y = load(x + t);
        for (int v = 0; v < V; ++v) y.x[v] = real(0.5) * tanh(real(0.5) * y.x[v]) + real(0.5);
        store(out + t, y);
    }
}

// grad_x = grad * out * (1 - out). Bytes: reads 2 * size numbers, writes size.
extern "C" __global__ void sigmoid_backward(const real* grad, const real* out, offset size,
                                            real* grad_x) {
    for (offset t = first_item(1) * V; t < size; t += item_stride(1) * V) {
        Pack<real> g = load(grad + t), y = load(out + t);
        for (int v = 0; v < V; ++v) g.x[v] *= y.x[v] * (1 - y.x[v]);
        store(grad_x + t, g);
    }
}

// out[t] = x[t] * scale where the bits of (key, t) keep it, else 0.
// Bytes: reads and writes size numbers.
extern "C" __global__ void dropout(const real* x, offset size, unsigned long long threshold,
                                   real scale, unsigned long long key, real* out) {
    for (offset t = first_item(1) * V; t < size; t += item_stride(1) * V) {
        Pack<real> kept = load(x + t);
        for (int v = 0; v < V; ++v)
            kept.x[v] = random_word(key, t + v) >= threshold ? kept.x[v] * scale : real(0);
        store(out + t, kept);
    }
}

// One step of Adam, in place; step_size and eps hold the bias corrections. Where a gradient is NaN
// nothing moves (see clip.cu).
// Bytes: reads 4 * size numbers, writes 3 * size.
extern "C" __global__ void adam_step(real* parameter, const real* grad, real* moment1,
                                     real* moment2, offset size, real step_size, real beta1,
                                     real beta2, real eps) {
    for (offset t = first_item(1) * V; t < size; t += item_stride(1) * V) {
        Pack<real> p = load(parameter + t), g = load(grad + t);
        Pack<real> m = load(moment1 + t), s = load(moment2 + t);
        for (int v = 0; v < V; ++v) {
            if (g.x[v] != g.x[v]) continue;
            m.x[v] = beta1 * m.x[v] + (1 - beta1) * g.x[v];
            s.x[v] = beta2 * s.x[v] + (1 - beta2) * g.x[v] * g.x[v];
            p.x[v] -= step_size * m.x[v] / (sqrt(s.x[v]) + eps);
        }
        store(moment1 + t, m);
        store(moment2 + t, s);
        store(parameter + t, p);
    }
}

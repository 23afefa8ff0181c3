// bias and leaky ReLU after a product and before its gradient, dropout, and Adam's step.
//
// Owner: a thread owns V neighbouring numbers of `size` (or a column of one chunk of rows, where
// columns are summed) and steps by the size of the grid; neighbours own neighbouring ones, so every
// access coalesces. V divides `size`, and G where rows have a bias.

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

// grad_x = grad * (1 where out > 0, else slope), and its column sums over chunks of `height` rows.
// Bytes: reads 2 * rows * G, writes rows * G and the sums.
extern "C" __global__ void leaky_relu_backward(const real* grad, const real* out,  // (rows, G)
                                               offset rows, int G, int height, real slope,
                                               real* grad_x,   // (rows, G)
                                               real* sums) {   // (chunks, G)
    offset chunks = (rows + height - 1) / height;
    for (offset t = first_item(1); t < chunks * G; t += item_stride(1)) {
        offset start = t / G * height, stop = min(start + height, rows);
        int g = t % G;
        real total = 0;
        for (offset i = start; i < stop; ++i) {
            real value = grad[i * G + g] * (out[i * G + g] > 0 ? real(1) : slope);
            grad_x[i * G + g] = value;
            total += value;
        }
        sums[t] = total;
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

// One step of Adam, in place; step_size and eps hold the bias corrections.
// Bytes: reads 4 * size numbers, writes 3 * size.
extern "C" __global__ void adam_step(real* parameter, const real* grad, real* moment1,
                                     real* moment2, offset size, real step_size, real beta1,
                                     real beta2, real eps) {
    for (offset t = first_item(1) * V; t < size; t += item_stride(1) * V) {
        Pack<real> p = load(parameter + t), g = load(grad + t);
        Pack<real> m = load(moment1 + t), s = load(moment2 + t);
        for (int v = 0; v < V; ++v) {
            m.x[v] = beta1 * m.x[v] + (1 - beta1) * g.x[v];
            s.x[v] = beta2 * s.x[v] + (1 - beta2) * g.x[v] * g.x[v];
            p.x[v] -= step_size * m.x[v] / (sqrt(s.x[v]) + eps);
        }
        store(moment1 + t, m);
        store(moment2 + t, s);
        store(parameter + t, p);
    }
}

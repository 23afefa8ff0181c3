// forward:  w = softmax over row i of <scale * queries[i, k], keys[j, k]>, after which some are
//           dropped; out[i, k] = sum over the edges (i, j) of w * values[j, k]
// backward: for each edge e = (i, j) and head, from what the forward pass kept for row i (top,
//           1 / sum), with `factor` as dropout chose it before:
//               w = exp(<scale * queries[i], keys[j]> - top) / sum
//               weights[e] = w * factor
//               grad_scores[e] = scale * w * (factor * <grad[i], values[j]> - <grad[i], out[i]>)
//           The last term is the sum over the row of weight times its gradient. Three weighted sums
//           remain: of keys by grad_scores, and over the transposed block of queries by grad_scores
//           and of grad by weights. So E*K*D numbers are never stored.
//
// Owner, forward: a team of lanes owns (row or piece, head, strip of d) and goes over its edges
// once, BATCH at a time, with a running maximum: when that grows, what was summed so far is scaled
// down. A lane steps through key and value width, so gathered rows are read in whole sectors; sums
// stay in registers. Rows that are cut leave (maximum, sum) and unscaled output for
// `attention_pieces`.
// Bytes: reads E*K*(A + D) keys and values, N*K*A queries, E indices, N + 1 indptr; writes
// N*K*(D + 2).
//
// Owner, backward: a team of lanes owns (row or piece, head) and steps through both widths; BATCH
// edges are under way together. Edges do not depend on each other.
// Bytes: reads E*K*(A + D) keys and values, N*K*(A + 2*D + 2), E indices, N + 1 indptr; writes
// 2*E*K.

extern "C" __global__ void attention_forward(
    const real* queries, const real* keys, const real* values,  // (N, K, A), (S, K, A), (S, K, D)
    const offset* indptr, const int* indices, offset N, offset slots, int K, int A, int D, int team,
    real scale, unsigned long long threshold, real keep_scale, unsigned long long key,
    real* out,         // (N, K, D)
    real* stats,       // (N, K, 2): what was subtracted from the scores, and 1 / sum
    real* partial,     // (slots, K, D)
    real* partial_stats) {  // (slots, K, 2): maximum, sum
    Team my = team_of(team);
    int width = team * V, passes = max(1, (D + width * STRIPS - 1) / (width * STRIPS));
    offset items = (N + slots) * K * passes;
    for (offset item = first_item(team); item < items; item += item_stride(team)) {
        int first = item % passes * width * STRIPS + my.rank * V, k = item / passes % K;
        Unit unit;
        if (!find_unit(item / passes / K, indptr, N, slots, unit)) continue;  // the whole team
        const real* query = queries + (unit.row * K + k) * A;
        real top = minus_infinity(), total = 0;
        Pack<real> sum[STRIPS] = {};
        for (offset e = unit.start; e < unit.stop; e += BATCH) {
            real weight[BATCH], before = top;
            dot_edges(my, query, scale, keys, indices, e, unit.stop, K, k, A, weight);
            for (int b = 0; b < BATCH; ++b) {
                weight[b] = e + b < unit.stop ? weight[b] : minus_infinity();
                top = larger(weight[b], top);
            }
            real shrink = exp(before - shift_of(top));
            total *= shrink;
            for (int s = 0; s < STRIPS; ++s)
                for (int v = 0; v < V; ++v) sum[s].x[v] *= shrink;
            for (int b = 0; b < BATCH && e + b < unit.stop; ++b) {
                real share = exp(weight[b] - shift_of(top));
                total += share;
                share *= kept_share(key, (e + b) * K + k, threshold, keep_scale);
                const real* row = values + (offset(indices[e + b]) * K + k) * D;
                for (int s = 0; s < STRIPS; ++s) {
                    int d = first + s * width;
                    if (d >= D) break;
                    Pack<real> value = load(row + d);
                    for (int v = 0; v < V; ++v) sum[s].x[v] += share * value.x[v];
                }
            }
        }
        bool whole = unit.slot < 0;
        offset place = (whole ? unit.row : unit.slot) * K + k;
        real inverse = total == 0 ? real(0) : 1 / total;
        for (int s = 0; s < STRIPS; ++s) {
            int d = first + s * width;
            if (d >= D) break;
            for (int v = 0; v < V; ++v) sum[s].x[v] *= whole ? inverse : real(1);
            store((whole ? out : partial) + place * D + d, sum[s]);
        }
        if (my.rank != 0 || item % passes != 0) continue;
        (whole ? stats : partial_stats)[place * 2] = whole ? shift_of(top) : top;
        (whole ? stats : partial_stats)[place * 2 + 1] = whole ? inverse : total;
    }
}

// Rows that were cut: a team owns one number of the output and adds its pieces in a tree.
extern "C" __global__ void attention_pieces(const real* partial, const real* partial_stats,
                                            const offset* indptr, offset N, offset slots, int K,
                                            int D, int team, real* out, real* stats) {
    Team my = team_of(team);
    for (offset t = first_item(team); t < slots * K * D; t += item_stride(team)) {
        offset slot = t / D / K, d = t % D;
        int k = t / D % K;
        Unit unit;
        if (!find_unit(slot, indptr, N, slots, unit) || unit.piece != 0) continue;
        real top, total, sum = 0;
        join_pieces(my, partial_stats, unit, K, k, top, total);
        for (offset p = slot + my.rank; p < slot + unit.pieces; p += team)
            sum += partial[(p * K + k) * D + d] *
                   exp(partial_stats[(p * K + k) * 2] - shift_of(top));
        sum = team_sum(my, sum);
        real inverse = total == 0 ? real(0) : 1 / total;
        if (my.rank != 0) continue;
        out[(unit.row * K + k) * D + d] = inverse * sum;
        if (d == 0) stats[(unit.row * K + k) * 2] = shift_of(top);
        if (d == 0) stats[(unit.row * K + k) * 2 + 1] = inverse;
    }
}

extern "C" __global__ void attention_backward(
    const real* grad, const real* out,                          // (N, K, D)
    const real* queries, const real* keys, const real* values,  // (N, K, A), (S, K, A), (S, K, D)
    const real* stats,                                          // (N, K, 2)
    const offset* indptr, const int* indices, offset N, offset slots, int K, int A, int D, int team,
    real scale, unsigned long long threshold, real keep_scale, unsigned long long key,
    real* weights, real* grad_scores) {                         // (E, K)
    Team my = team_of(team);
    for (offset item = first_item(team); item < (N + slots) * K; item += item_stride(team)) {
        int k = item % K;
        Unit unit;
        if (!find_unit(item / K, indptr, N, slots, unit)) continue;  // the whole team
        offset place = unit.row * K + k;
        const real* row_grad = grad + place * D;
        real top = stats[place * 2], inverse = stats[place * 2 + 1], mean = 0;
        for (int d = my.rank; d < D; d += team) mean += row_grad[d] * out[place * D + d];
        mean = team_sum(my, mean);
        for (offset e = unit.start; e < unit.stop; e += BATCH) {
            real score[BATCH], grad_weight[BATCH];
            dot_edges(my, queries + place * A, scale, keys, indices, e, unit.stop, K, k, A, score);
            dot_edges(my, row_grad, 1, values, indices, e, unit.stop, K, k, D, grad_weight);
            for (int b = 0; b < BATCH; ++b) {
                if (my.rank != b % team || e + b >= unit.stop) continue;
                offset position = (e + b) * K + k;
                real weight = exp(score[b] - top) * inverse;
                real factor = kept_share(key, position, threshold, keep_scale);
                weights[position] = weight * factor;
                grad_scores[position] = scale * weight * (factor * grad_weight[b] - mean);
            }
        }
    }
}

// For each edge e = (i, j) and head, from what the forward pass kept for row i (top, 1 / sum):
//     w = exp(scale * <queries[i], keys[j]> - top) / sum, kept or dropped by `factor` as before
//     weights[e] = w * factor
//     grad_scores[e] = scale * w * (factor * <grad[i], values[j]> - <grad[i], out[i]>)
// The last term is the sum over the row of weight times its gradient. What remains are three
// weighted sums: of keys by grad_scores, and over the transposed block of queries by grad_scores
// and of grad by weights. So E*K*D numbers are never stored.
//
// Owner: a team of lanes owns (row or piece, head) and steps through both widths, so gathered
// rows are read in whole sectors; BATCH edges are under way together. Edges do not depend on each
// other.
// Bytes: reads E*K*(A + D) keys and values, N*K*(A + 2*D + 2), E indices, N + 1 indptr; writes
// 2*E*K.

extern "C" __global__ void attention_backward(
    const real* grad, const real* out,                          // (N, K, D)
    const real* queries, const real* keys, const real* values,  // (N, K, A), (S, K, A), (S, K, D)
    const real* stats,                                          // (N, K, 2)
    const offset* indptr, const int* indices, offset N, offset slots, int K, int A, int D, int team,
    real scale, unsigned long long threshold, real keep_scale, unsigned long long seed,
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
            dot_edges(my, queries + place * A, keys, indices, e, unit.stop, K, k, A, score);
            dot_edges(my, row_grad, values, indices, e, unit.stop, K, k, D, grad_weight);
            for (int b = 0; b < BATCH; ++b) {
                if (my.rank != b % team || e + b >= unit.stop) continue;
                offset position = (e + b) * K + k;
                real weight = exp(scale * score[b] - top) * inverse;
                real factor = kept_share(seed, position, threshold, keep_scale);
                weights[position] = weight * factor;
                grad_scores[position] = scale * weight * (factor * grad_weight[b] - mean);
            }
        }
    }
}

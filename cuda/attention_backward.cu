// For each edge e = (i, j) and head, from what the forward pass kept for row i (top, 1 / sum), with
// `factor` as dropout chose it before:
//     w = exp(<scale * queries[i], keys[j]> - top) / sum
//     weights[e] = w * factor
//     grad_scores[e] = scale * w * (factor * <grad[i], values[j]> - <grad[i], out[i]>)
//     grad_queries[i] = the sum over the row of grad_scores[e] * keys[j]
// The last term of grad_scores is the sum over the row of weight times its gradient. Two weighted
// sums remain, over the transposed block: attention_sources.cu. So E*K*D numbers are never stored.
//
// Owner: a team of lanes owns (row or piece, head, strip of the query) and steps through both
// widths. BATCH edges are under way together, and each is finished by its own lane; while their
// keys are in the cache, all lanes add these up. Of a row that was cut sum_pieces.cu adds up the
// pieces.
// Bytes: reads E*K*(A + D) keys and values, N*K*(A + 2*D + 2), E indices, N + 1 indptr; writes
// 2*E*K + N*K*A.

#define K GIVEN_K        // heads
#define A GIVEN_A        // numbers of a query and a key
#define D GIVEN_D        // numbers of a value
#define TEAM GIVEN_TEAM  // lanes

extern "C" __global__ void attention_backward(
    const real* grad, const real* out,                          // (N, K, D)
    const real* queries, const real* keys, const real* values,  // (N, K, A), (S, K, A), (S, K, D)
    const real* stats,                                          // (N, K, 2)
    const offset* indptr, const int* indices, offset N, offset slots, real scale,
    unsigned long long threshold, real keep_scale, unsigned long long key,
    real* weights, real* grad_scores,                           // (E, K)
    real* grad_queries, real* partial) {                        // (N, K, A), (slots, K, A)
    Team my = team_of(TEAM);
    const int width = TEAM * V, strips = max(1, min(STRIPS, (A + width - 1) / width));
    const int passes = max(1, (A + width * strips - 1) / (width * strips));
    offset items = (N + slots) * K * passes;
    for (offset item = first_item(TEAM); any_lane(item < items); item += item_stride(TEAM)) {
        int first = item % passes * width * strips + my.rank * V, k = item / passes % K;
        Unit unit;
        bool found = find_unit(item / passes / K, indptr, N, slots, unit);
        offset place = unit.row * K + k;
        const real *query = queries + place * A, *row_grad = grad + place * D;
        const int* row = indices + unit.start;
        int count = unit.stop - unit.start;
        real top = 0, inverse = 0, mean = 0;
        if (count > 0) {
            top = stats[place * 2], inverse = stats[place * 2 + 1];
            for (int d = my.rank; d < D; d += TEAM) mean += row_grad[d] * out[place * D + d];
        }
        mean = team_sum(my, mean);
        Pack<real> sum[STRIPS] = {};
        for (int e = 0; any_lane(e < count); e += BATCH) {
            int sources[BATCH] = {};
            real score[BATCH] = {}, grad_weight[BATCH] = {};
            if (e < count) {
                load_sources(row + e, count - e, sources);
                dot_edges(my, query, scale, keys + k * A, sources, K * A, A, score);
                dot_edges(my, row_grad, 1, values + k * D, sources, K * D, D, grad_weight);
            }
            sum_edges(my, score);
            sum_edges(my, grad_weight);
            for (int i = 0, b = my.rank; b < BATCH; ++i, b += owners(my)) {
                if (e + b >= count) continue;
                offset position = (unit.start + e + b) * K + k;
                real weight = exp(score[i] - top) * inverse;
                real factor = kept_share(key, position, threshold, keep_scale);
                score[i] = scale * weight * (factor * grad_weight[i] - mean);
                if (item % passes != 0) continue;
                weights[position] = weight * factor;
                grad_scores[position] = score[i];
            }
            for (int b = 0; b < BATCH; ++b) {
                real share = of_edge(my, score, b);
                const real* key_row = row_at(keys + k * A, sources[b], K * A);
                if (e + b < count) add_row(my, key_row, A, first, strips, share, sum);
            }
        }
        if (!found) continue;
        real* rows = unit.slot < 0 ? grad_queries : partial;
        place = (unit.slot < 0 ? unit.row : unit.slot) * K + k;
        store_row(my, sum, first, strips, A, rows + place * A);
    }
}

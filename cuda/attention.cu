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
// stay in registers. Each lane takes the exponential of its own edge and sends it to the others.
// Rows that are cut leave (maximum, sum) and unscaled output for `attention_pieces`.
// Bytes: reads E*K*(A + D) keys and values, N*K*A queries, E indices, N + 1 indptr; writes
// N*K*(D + 2).
//
// Owner, backward: a team of lanes owns (row or piece, head) and steps through both widths; BATCH
// edges are under way together, and each is finished by its own lane.
// Bytes: reads E*K*(A + D) keys and values, N*K*(A + 2*D + 2), E indices, N + 1 indptr; writes
// 2*E*K.

#define K GIVEN_K        // heads
#define A GIVEN_A        // numbers of a query and a key
#define D GIVEN_D        // numbers of a value
#define TEAM GIVEN_TEAM  // lanes

extern "C" __global__ void attention_forward(
    const real* queries, const real* keys, const real* values,  // (N, K, A), (S, K, A), (S, K, D)
    const offset* indptr, const int* indices, offset N, offset slots, real scale,
    unsigned long long threshold, real keep_scale, unsigned long long key,
    real* out,              // (N, K, D)
    real* stats,            // (N, K, 2): what was subtracted from the scores, and 1 / sum
    real* partial,          // (slots, K, D)
    real* partial_stats) {  // (slots, K, 2): maximum, sum
    Team my = team_of(TEAM);
    const int width = TEAM * V, strips = max(1, min(STRIPS, (D + width - 1) / width));
    const int passes = max(1, (D + width * strips - 1) / (width * strips));
    offset items = (N + slots) * K * passes;
    for (offset item = first_item(TEAM); any_lane(item < items); item += item_stride(TEAM)) {
        int first = item % passes * width * strips + my.rank * V, k = item / passes % K;
        Unit unit;
        bool found = find_unit(item / passes / K, indptr, N, slots, unit);
        const real* query = queries + (unit.row * K + k) * A;
        const int* row = indices + unit.start;
        int count = unit.stop - unit.start;
        real top = minus_infinity(), total = 0;
        Pack<real> sum[STRIPS] = {};
        for (int e = 0; any_lane(e < count); e += BATCH) {
            int sources[BATCH];
            real weight[BATCH] = {}, before = top;
            if (e < count) {
                load_sources(row + e, count - e, sources);
                dot_edges(my, query, scale, keys + k * A, sources, K * A, A, weight);
            }
            sum_edges(my, weight);
            for (int i = 0, b = my.rank % owners(my); b < BATCH; ++i, b += owners(my)) {
                weight[i] = e + b < count ? weight[i] : minus_infinity();
                top = larger(weight[i], top);
            }
            top = owners_max(my, top);
            real shrink = exp(before - shift_of(top));
            total *= shrink;
            for (int s = 0; s < strips; ++s)
                for (int v = 0; v < V; ++v) sum[s].x[v] *= shrink;
            for (int i = 0, b = my.rank % owners(my); b < BATCH; ++i, b += owners(my)) {
                weight[i] = exp(weight[i] - shift_of(top));
                total += weight[i];
                weight[i] *= kept_share(key, (unit.start + e + b) * K + k, threshold, keep_scale);
            }
            for (int b = 0; b < BATCH; ++b) {
                real share = of_edge(my, weight, b);
                if (e + b >= count) continue;
                const real* value = row_at(values + k * D, sources[b], K * D);
                for (int s = 0; s < strips; ++s) {
                    int d = first + s * width;
                    if (d >= D) break;
                    Pack<real> x = load(value + d);
                    for (int v = 0; v < V; ++v) sum[s].x[v] += share * x.x[v];
                }
            }
        }
        total = owners_sum(my, total);
        if (!found) continue;
        bool whole = unit.slot < 0;
        offset place = (whole ? unit.row : unit.slot) * K + k;
        real inverse = total == 0 ? real(0) : 1 / total;
        for (int s = 0; s < strips; ++s) {
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
                                            const offset* indptr, offset N, offset slots, int team,
                                            real* out, real* stats) {
    Team my = team_of(team);
    for (offset t = first_item(team); any_lane(t < slots * K * D); t += item_stride(team)) {
        offset slot = t / D / K, d = t % D;
        int k = t / D % K;
        Unit unit;
        find_first_piece(slot, indptr, N, slots, unit);
        real top, total, sum = 0;
        join_pieces(my, partial_stats, unit, K, k, top, total);
        for (offset p = slot + my.rank; p < slot + unit.pieces; p += team)
            sum += partial[(p * K + k) * D + d] *
                   exp(partial_stats[(p * K + k) * 2] - shift_of(top));
        sum = team_sum(my, sum);
        real inverse = total == 0 ? real(0) : 1 / total;
        if (my.rank != 0 || unit.pieces == 0) continue;
        out[(unit.row * K + k) * D + d] = inverse * sum;
        if (d == 0) stats[(unit.row * K + k) * 2] = shift_of(top);
        if (d == 0) stats[(unit.row * K + k) * 2 + 1] = inverse;
    }
}

extern "C" __global__ void attention_backward(
    const real* grad, const real* out,                          // (N, K, D)
    const real* queries, const real* keys, const real* values,  // (N, K, A), (S, K, A), (S, K, D)
    const real* stats,                                          // (N, K, 2)
    const offset* indptr, const int* indices, offset N, offset slots, real scale,
    unsigned long long threshold, real keep_scale, unsigned long long key,
    real* weights, real* grad_scores) {                         // (E, K)
    Team my = team_of(TEAM);
    for (offset item = first_item(TEAM); any_lane(item < (N + slots) * K);
         item += item_stride(TEAM)) {
        int k = item % K;
        Unit unit;
        find_unit(item / K, indptr, N, slots, unit);
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
        for (int e = 0; any_lane(e < count); e += BATCH) {
            real score[BATCH] = {}, grad_weight[BATCH] = {};
            if (e < count) {
                int sources[BATCH];
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
                weights[position] = weight * factor;
                grad_scores[position] = scale * weight * (factor * grad_weight[i] - mean);
            }
        }
    }
}

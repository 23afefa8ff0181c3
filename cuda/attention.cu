// w = softmax over row i of <scale * queries[i, k], keys[j, k]>, after which some are dropped;
// out[i, k] = sum over the edges (i, j) of w * values[j, k]
//
// Owner: a team of lanes owns (row or piece, head, strip of d) and goes over its edges once, BATCH
// at a time, with a running maximum: when that grows, what was summed so far is scaled down. A
// lane steps through key and value width, so gathered rows are read in whole sectors; sums stay in
// registers. Each lane takes the exponential of its own edge and sends it to the others. Rows that
// are cut leave (maximum, sum) and unscaled output for `attention_pieces`.
// Bytes: reads E*K*(A + D) keys and values, N*K*A queries, E indices, N + 1 indptr; writes
// N*K*(D + 2).

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
            int sources[BATCH] = {};
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
                const real* value = row_at(values + k * D, sources[b], K * D);
                if (e + b < count) add_row(my, value, D, first, strips, share, sum);
            }
        }
        total = owners_sum(my, total);
        if (!found) continue;
        bool whole = unit.slot < 0;
        offset place = (whole ? unit.row : unit.slot) * K + k;
        real inverse = total == 0 ? real(0) : 1 / total;
        for (int s = 0; s < strips; ++s)
            for (int v = 0; v < V; ++v) sum[s].x[v] *= whole ? inverse : real(1);
        store_row(my, sum, first, strips, D, (whole ? out : partial) + place * D);
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

// The gradients of attention's keys and values, in one walk of each transposed row j:
//     grad_keys[j, k] = sum over the edges e = (i, j) of grad_scores[e, k] * queries[i, k]
//     grad_values[j, k] = the same of weights[e, k] * grad[i, k]
//
// Owner: a team of lanes owns (row or piece, head, strip of the A + D columns of both); a lane owns
// V neighbouring columns, of one or of the other, and keeps their sums in registers. Gathered rows
// are read in whole sectors. attention_sources_pieces adds up what was cut.
// Bytes: reads E*K*(A + D) queries and grad, 2*E*K weights, E indices and edge_ids, S + 1 indptr;
// writes S*K*(A + D).

extern "C" __global__ void attention_sources(
    const real* grad_scores, const real* weights,  // (E, K)
    const real* queries, const real* grad,         // (N, K, A), (N, K, D)
    const offset* t_indptr, const int* t_indices,  // (S + 1,), (E,)
    const void* t_edge_ids, int id_bytes, offset S, offset slots, int K, int A, int D, int team,
    real* grad_keys, real* grad_values,            // (S, K, A), (S, K, D)
    real* partial) {                               // (slots, K, A + D)
    int rank = team_of(team).rank, strips = (A + D + team * V - 1) / (team * V);
    offset items = (S + slots) * K * strips;
    for (offset item = first_item(team); item < items; item += item_stride(team)) {
        int d = (item % strips * team + rank) * V, k = item / strips % K;
        Unit unit;
        if (d >= A + D || !find_unit(item / strips / K, t_indptr, S, slots, unit)) continue;
        bool of_keys = d < A;
        const real* share = of_keys ? grad_scores : weights;
        const real* rows = of_keys ? queries + d : grad + d - A;
        int width = of_keys ? A : D;
        Pack<real> total = {};
#pragma unroll 4
        for (offset p = unit.start; p < unit.stop; ++p) {
            real weight = share[edge_id(t_edge_ids, id_bytes, p) * K + k];
            Pack<real> row = load(rows + (offset(t_indices[p]) * K + k) * width);
            for (int v = 0; v < V; ++v) total.x[v] += weight * row.x[v];
        }
        if (unit.slot >= 0)
            store(partial + (unit.slot * K + k) * (A + D) + d, total);
        else if (of_keys)
            store(grad_keys + (unit.row * K + k) * A + d, total);
        else
            store(grad_values + (unit.row * K + k) * D + d - A, total);
    }
}

// Rows that were cut: a team owns one number of a row and adds its pieces in a tree.
extern "C" __global__ void attention_sources_pieces(const real* partial, const offset* t_indptr,
                                                    offset S, offset slots, int K, int A, int D,
                                                    int team, real* grad_keys,
                                                    real* grad_values) {
    Team my = team_of(team);
    int width = A + D;
    for (offset t = first_item(team); t < slots * K * width; t += item_stride(team)) {
        offset slot = t / width / K;
        int d = t % width, k = t / width % K;
        Unit unit;
        if (!find_unit(slot, t_indptr, S, slots, unit) || unit.piece != 0) continue;
        real total = 0;
        for (offset p = slot + my.rank; p < slot + unit.pieces; p += team)
            total += partial[(p * K + k) * width + d];
        total = team_sum(my, total);
        if (my.rank != 0) continue;
        if (d < A) grad_keys[(unit.row * K + k) * A + d] = total;
        else grad_values[(unit.row * K + k) * D + d - A] = total;
    }
}

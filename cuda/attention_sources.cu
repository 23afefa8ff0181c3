// The gradients of attention's keys and values, in one walk of each transposed row j:
//     grad_keys[j, k] = sum over the edges e = (i, j) of grad_scores[e, k] * queries[i, k]
//     grad_values[j, k] = the same of weights[e, k] * grad[i, k]
//
// Owner: a team of lanes owns (row or piece, head, strip of the A + D columns of both); a lane owns
// V neighbouring columns, of one or of the other, and keeps their sums in registers. Gathered rows
// are read in whole sectors. attention_sources_pieces adds up what was cut.
// Bytes: reads E*K*(A + D) queries and grad, 2*E*K weights, E indices and edge_ids, S + 1 indptr;
// writes S*K*(A + D).

#define K GIVEN_K                // heads
#define A GIVEN_A                // numbers of a query and a key
#define D GIVEN_D                // numbers of a value
#define TEAM GIVEN_TEAM          // lanes
#define ID_BYTES GIVEN_ID_BYTES  // of an edge_id

extern "C" __global__ void attention_sources(
    const real* grad_scores, const real* weights,                           // (E, K)
    const real* queries, const real* grad,                                  // (N, K, A), (N, K, D)
    const offset* t_indptr, const int* t_indices, const void* t_edge_ids,   // (S + 1,), (E,), (E,)
    offset S, offset slots, real* grad_keys, real* grad_values,             // (S, K, A), (S, K, D)
    real* partial) {                                                        // (slots, K, A + D)
    const int rank = team_of(TEAM).rank, strips = (A + D + TEAM * V - 1) / (TEAM * V);
    offset items = (S + slots) * K * strips;
    for (offset item = first_item(TEAM); item < items; item += item_stride(TEAM)) {
        int d = (item % strips * TEAM + rank) * V, k = item / strips % K;
        Unit unit;
        if (d >= A + D || !find_unit(item / strips / K, t_indptr, S, slots, unit)) continue;
        bool of_keys = d < A;
        const real* share = of_keys ? grad_scores : weights;
        const real* rows = of_keys ? queries + k * A + d : grad + k * D + d - A;
        int stride = of_keys ? K * A : K * D;
        Pack<real> total = sum_of_edges(unit, [=](offset p) {
            return Weighted{of_edge_at(share, t_edge_ids, ID_BYTES, p, K, k),
                            load(row_at(rows, t_indices[p], stride))};
        });
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
                                                    offset S, offset slots, int team,
                                                    real* grad_keys, real* grad_values) {
    Team my = team_of(team);
    const int width = A + D;
    for (offset t = first_item(team); any_lane(t < slots * K * width); t += item_stride(team)) {
        offset slot = t / width / K;
        int d = t % width, k = t / width % K;
        Unit unit;
        bool found = find_first_piece(slot, t_indptr, S, slots, unit);
        real total = 0;
        for (offset p = slot + my.rank; p < slot + unit.pieces; p += team)
            total += partial[(p * K + k) * width + d];
        total = team_sum(my, total);
        if (my.rank != 0 || !found) continue;
        if (d < A) grad_keys[(unit.row * K + k) * A + d] = total;
        else grad_values[(unit.row * K + k) * D + d - A] = total;
    }
}

// out[i, f] = max over the edges e of row i of u[e, f], with u[e] = values[j] + edges[e] @
// projection for e from source j, made in registers; places[i, f] the first edge that has it,
// counted from the row's first; 0 and -1 without edges. A NaN is the largest. max_pieces in
// segment_max.cu compares the pieces of rows that were cut. The gradients: edge_max_gradients.cu.
//
// Owner: as in segment_max.cu, a team owns (row or piece, strip of f).
// Bytes: reads E*F values, E*B edges, B*F of the projection (from the cache), E indices; writes
// 2*N*F.

#define F GIVEN_F        // numbers of a row
#define B GIVEN_B        // features of an edge
#define TEAM GIVEN_TEAM  // lanes

struct Candidates {  // numbers of one edge, and its place in the row
    int place;
    Pack<real> row;
};

extern "C" __global__ void edge_max_forward(
    const real* values,      // (S, F)
    const real* edges,       // (E, B)
    const real* projection,  // (B, F)
    const offset* indptr, const int* indices, offset N, offset slots,
    real* out,               // (N, F)
    int* places,             // (N, F)
    real* partial,           // (slots, F)
    int* partial_places) {   // (slots, F)
    const int rank = team_of(TEAM).rank, strips = (F + TEAM * V - 1) / (TEAM * V);
    for (offset item = first_item(TEAM); item < (N + slots) * strips; item += item_stride(TEAM)) {
        int f = (item % strips * TEAM + rank) * V;
        Unit unit;
        if (f >= F || !find_unit(item / strips, indptr, N, slots, unit)) continue;
        Pack<real> top = {};
        Pack<int> place;
        for (int v = 0; v < V; ++v) place.x[v] = -1;
        auto fetch = [=](offset e) {
            Pack<real> u = edge_value(values, edges, projection, indices[e], e, B, F, f);
            return Candidates{int(e - unit.first), u};
        };
        for_each_edge(unit, fetch, [&](const Candidates& x) {
            for (int v = 0; v < V; ++v) take_larger(x.row.x[v], x.place, top.x[v], place.x[v]);
        });
        bool whole = unit.slot < 0;
        offset at = (whole ? unit.row : unit.slot) * F + f;
        store((whole ? out : partial) + at, top);
        store((whole ? places : partial_places) + at, place);
    }
}

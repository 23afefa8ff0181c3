// What every segment kernel is made of. The host puts this text before a .cu file's, because NVRTC
// has no headers and CuPy's cache does not look into them. Before this text it defines `real`;
// V, how many neighbouring numbers one lane loads at once (16 bytes of them where widths and
// addresses allow, else 1); PIECE, about how many edges one lane walks in one go; STRIPS, how many
// loads of an output row one lane of attention keeps; and BLOCK, the threads of a block.

typedef long long offset;  // E * K * D passes 2^31

const int BATCH = 4;  // edges whose loads and shuffles are under way together

template <class T> struct alignas(V * sizeof(T)) Pack { T x[V]; };

template <class T> __device__ __forceinline__ Pack<T> load(const T* p) {
    return *reinterpret_cast<const Pack<T>*>(p);
}
template <class T> __device__ __forceinline__ void store(T* p, const Pack<T>& pack) {
    *reinterpret_cast<Pack<T>*>(p) = pack;
}

// ---- a maximum that subtracts well --------------------------------------------------------------

__device__ __forceinline__ real minus_infinity() { return -real(1e300 * 1e300); }
// A NaN is never the larger one: it reaches the result through the sum of the exponentials.
__device__ __forceinline__ real larger(real x, real top) { return x > top ? x : top; }
// What to subtract: scores of -inf only then give zeros, and no NaN.
__device__ __forceinline__ real shift_of(real top) { return top == minus_infinity() ? 0 : top; }

// ---- teams: 1, 2, 4, ... or 32 neighbouring lanes that work on one item -----------------------

// A kernel is given `team`, the number of lanes; `my` is the team that a thread belongs to.
struct Team {
    int size, rank;
    unsigned mask;
};

__device__ __forceinline__ Team team_of(int team) {
    int lane = threadIdx.x % 32, rank = lane & (team - 1);
    return {team, rank, (team == 32 ? ~0u : (1u << team) - 1) << (lane - rank)};
}
__device__ __forceinline__ offset first_item(int team) {
    return (offset(blockIdx.x) * blockDim.x + threadIdx.x) / team;
}
__device__ __forceinline__ offset item_stride(int team) {
    return offset(gridDim.x) * blockDim.x / team;
}

// Over the lanes whose ranks agree modulo `apart`; every lane gets the same bits.
__device__ __forceinline__ real team_sum(Team my, real x, int apart = 1) {
    for (int bits = my.size / 2; bits >= apart; bits /= 2)
        x += __shfl_xor_sync(my.mask, x, bits);
    return x;
}
__device__ __forceinline__ real team_max(Team my, real x, int apart = 1) {
    for (int bits = my.size / 2; bits >= apart; bits /= 2)
        x = larger(__shfl_xor_sync(my.mask, x, bits), x);
    return x;
}

// ---- units: rows, and pieces of long rows -------------------------------------------------------

// The units of work are slots, then rows, so that what takes longest starts first. Unit slots + i
// is row i, if that has at most PIECE edges. A longer row is cut into as many even pieces as there
// are multiples of PIECE in (start, stop]; these number the slots, E / PIECE of them: a slot finds
// its row by bisection, and nobody has to count pieces first.
struct Unit {
    offset row, start, stop, degree;
    offset slot;           // -1 for a whole row
    offset piece, pieces;  // which of the row's pieces this is, and how many there are
};

// The row that edge e lies in: indptr[row] <= e < indptr[row + 1].
__device__ __forceinline__ offset row_of_edge(offset e, const offset* indptr, offset N) {
    offset row = 0, after = N;
    while (after - row > 1) {
        offset middle = (row + after) / 2;
        if (indptr[middle] <= e) row = middle;
        else after = middle;
    }
    return row;
}

// Whether unit u has any work to do, and which.
__device__ __forceinline__ bool find_unit(offset u, const offset* indptr, offset N, offset slots,
                                          Unit& unit) {
    if (u >= slots) {
        offset row = u - slots, start = indptr[row], stop = indptr[row + 1];
        unit = {row, start, stop, stop - start, -1, 0, 1};
        return unit.degree <= PIECE;
    }
    offset row = row_of_edge((u + 1) * PIECE - 1, indptr, N);
    offset start = indptr[row], stop = indptr[row + 1], degree = stop - start;
    offset pieces = stop / PIECE - start / PIECE, piece = u - start / PIECE;
    unit = {row, start + degree * piece / pieces, start + degree * (piece + 1) / pieces, degree, u,
            piece, pieces};
    return degree > PIECE;
}

// What every segment kernel is made of. The host puts this text before a .cu file's, because NVRTC
// has no headers and CuPy's cache does not look into them. Before this text it defines `real`;
// V, how many neighbouring numbers one lane loads at once (16 bytes of them where widths and
// addresses allow, else 1); PIECE, about how many edges one lane walks in one go; STRIPS, how many
// loads of an output row one lane of attention keeps; and BLOCK, the threads of a block. What else
// a text is compiled for, such as its heads, stands at its top as a name in GIVEN_.

typedef long long offset;  // E * K * D passes 2^31

const int BATCH = 4;  // edges whose loads and shuffles are under way together

template <class T> struct alignas(V * sizeof(T)) Pack { T x[V]; };

template <class T> __device__ __forceinline__ Pack<T> load(const T* p) {
    return *reinterpret_cast<const Pack<T>*>(p);
}
template <class T> __device__ __forceinline__ void store(T* p, const Pack<T>& pack) {
    *reinterpret_cast<Pack<T>*>(p) = pack;
}

// The place `row` rows of `stride` numbers after `first`: for a gathered row. The empty line of
// assembly keeps a compiler from taking what is the same for all rows into each of the offsets:
// then an address is one multiply-add, and not four instructions.
template <class T>
__device__ __forceinline__ const T* row_at(const T* first, offset row, int stride) {
    offset bytes = row * (stride * int(sizeof(T)));
#ifdef __CUDA_ARCH__
    asm("" : "+l"(bytes));
#endif
    return reinterpret_cast<const T*>(reinterpret_cast<const char*>(first) + bytes);
}

// ---- a maximum that subtracts well --------------------------------------------------------------

__device__ __forceinline__ real minus_infinity() { return -real(1e300 * 1e300); }
// A NaN is never the larger one: it reaches the result through the sum of the exponentials.
__device__ __forceinline__ real larger(real x, real top) { return x > top ? x : top; }
// What to subtract: scores of -inf only then give zeros, and no NaN.
__device__ __forceinline__ real shift_of(real top) { return top == minus_infinity() ? 0 : top; }

// ---- teams: 1, 2, 4, ... or 32 neighbouring lanes that work on one item -----------------------

// The team that a thread belongs to. The teams of a warp go through their items, and through the
// edges of these, together: all lanes meet at every shuffle, so that nothing must find out which
// ones are there. A team with no edge left waits, as it would anyhow.
struct Team {
    int size, rank;
};

__device__ __forceinline__ Team team_of(int team) { return {team, int(threadIdx.x) & (team - 1)}; }
__device__ __forceinline__ offset first_item(int team) {
    return (offset(blockIdx.x) * blockDim.x + threadIdx.x) / team;
}
__device__ __forceinline__ offset item_stride(int team) {
    return offset(gridDim.x) * blockDim.x / team;
}
// Whether one of the warp's lanes still has something to do.
__device__ __forceinline__ bool any_lane(bool busy) { return __ballot_sync(~0u, busy) != 0; }

// Over the lanes whose ranks agree modulo `apart`; every lane gets the same bits.
__device__ __forceinline__ real team_sum(Team my, real x, int apart = 1) {
    for (int bits = my.size / 2; bits >= apart; bits /= 2) x += __shfl_xor_sync(~0u, x, bits);
    return x;
}
__device__ __forceinline__ real team_max(Team my, real x, int apart = 1) {
    for (int bits = my.size / 2; bits >= apart; bits /= 2)
        x = larger(__shfl_xor_sync(~0u, x, bits), x);
    return x;
}

// ---- units: rows, and pieces of long rows -------------------------------------------------------

// The units of work are slots, then rows, so that what takes longest starts first. Unit slots + i
// is row i, if that has at most PIECE edges. A longer row is cut into as many even pieces as there
// are multiples of PIECE in (start, stop]; these number the slots, E / PIECE of them: a slot finds
// its row by bisection, and nobody has to count pieces first.
struct Unit {
    offset row, start, stop;
    offset first, degree;  // of the whole row
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

// Whether there is a unit u with work to do, and which. If not, `unit` has no edges.
__device__ __forceinline__ bool find_unit(offset u, const offset* indptr, offset N, offset slots,
                                          Unit& unit) {
    unit = {};
    if (u >= N + slots) return false;
    bool is_piece = u < slots;
    offset row = is_piece ? row_of_edge((u + 1) * PIECE - 1, indptr, N) : u - slots;
    offset start = indptr[row], stop = indptr[row + 1], degree = stop - start;
    if (is_piece != degree > PIECE) return false;
    unit = {row, start, stop, start, degree, -1, 0, 1};
    if (!is_piece) return true;
    unit.slot = u, unit.piece = u - start / PIECE, unit.pieces = stop / PIECE - start / PIECE;
    offset step = degree / unit.pieces, longer = degree % unit.pieces;  // have an edge more
    unit.start += unit.piece * step + min(unit.piece, longer);
    unit.stop = unit.start + step + (unit.piece < longer);
    return true;
}

// Whether slot u is the first piece of a row: what puts pieces together owns the row then. If not,
// `unit` has no pieces.
__device__ __forceinline__ bool find_first_piece(offset u, const offset* indptr, offset N,
                                                 offset slots, Unit& unit) {
    bool found = u < slots && find_unit(u, indptr, N, slots, unit) && unit.piece == 0;
    if (!found) unit = {};
    return found;
}

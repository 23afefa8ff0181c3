// The bits behind dropout: the same words as in gaancore/kernels/cpu/vector/math.py, so that both
// backends keep the same edges.

__device__ __forceinline__ unsigned mix(unsigned h) {  // MurmurHash3's finaliser
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

// 32 random bits, a pure function of a 63-bit seed and a position.
__device__ __forceinline__ unsigned random_word(unsigned long long seed,
                                                unsigned long long position) {
    return mix(mix(unsigned(position) ^ unsigned(seed)) ^ unsigned(position >> 32) ^
               unsigned(seed >> 32));
}

// What a weight is multiplied with: a word at or above the threshold (rate * 2^32) keeps it.
__device__ __forceinline__ real kept_share(unsigned long long seed, unsigned long long position,
                                           unsigned long long threshold, real scale) {
    return random_word(seed, position) >= threshold ? scale : real(0);
}

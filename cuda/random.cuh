// The bits behind dropout: the same words as in gaancore/kernels/cpu/vector/math.py, so that both
// backends keep the same edges.

__device__ __forceinline__ unsigned mix(unsigned h) {  // MurmurHash3's finaliser
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

// 32 random bits, a pure function of a position and a key (see dropout_key in gaancore/kernels).
__device__ __forceinline__ unsigned random_word(unsigned long long key,
                                                unsigned long long position) {
    return mix(mix(unsigned(position) ^ unsigned(key)) ^ unsigned(position >> 32) ^
               unsigned(key >> 32));
}

// What a weight is multiplied with: a word at or above the threshold (rate * 2^32) keeps it.
__device__ __forceinline__ real kept_share(unsigned long long key, unsigned long long position,
                                           unsigned long long threshold, real scale) {
    return random_word(key, position) >= threshold ? scale : real(0);
}

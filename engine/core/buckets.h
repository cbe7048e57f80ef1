/* The buckets of every histogram of times; plain C, for the eBPF programs as well. The layout is
 * that of HdrHistogram (Tene 2012), with a power of two where it has a decimal digit: every power
 * of two is divided into 2^bits equal buckets, so that a bucket is never wider than 2^-bits of its
 * values; below 2^bits every value has its own. netsonde.stats.histogram has the same layout. */
#ifndef NETSONDE_CORE_BUCKETS_H
#define NETSONDE_CORE_BUCKETS_H

#if defined(__bpf__)
#define SONDE_BUCKETS_INLINE static inline __attribute__((always_inline))
#elif defined(__cplusplus)
#define SONDE_BUCKETS_INLINE constexpr
#else
#define SONDE_BUCKETS_INLINE static inline
#endif

SONDE_BUCKETS_INLINE unsigned sonde_bit_width(unsigned long long value) {
#if defined(__bpf__) /* whose processor has no instruction for it */
    unsigned width = 0;
    for (unsigned step = 32; step; step >>= 1) {
        if (value >> step) {
            width += step;
            value >>= step;
        }
    }
    return width + (value ? 1 : 0);
#else
    return value == 0 ? 0U : 64U - (unsigned)__builtin_clzll(value); /* NOLINT(*-cstyle-cast): C */
#endif
}

SONDE_BUCKETS_INLINE unsigned long long sonde_bucket_of(unsigned long long value, unsigned bits) {
    const unsigned width = sonde_bit_width(value);
    if (width <= bits) {
        return value;
    }
    const unsigned long long octave = width - bits;
    return (octave << bits) + (value >> (octave - 1)) - (1ULL << bits);
}

/* The least value of a bucket. */
SONDE_BUCKETS_INLINE unsigned long long sonde_bucket_low(unsigned long long bucket, unsigned bits) {
    const unsigned long long octave = bucket >> bits;
    const unsigned long long below = bucket & ((1ULL << bits) - 1);
    return octave == 0 ? below : ((1ULL << bits) + below) << (octave - 1);
}

#endif

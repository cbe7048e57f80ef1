/* What the eBPF programs and their reader agree on; plain C for both. */
#ifndef NETSONDE_DEPTH_LAYOUT_H
#define NETSONDE_DEPTH_LAYOUT_H

/* The layout of core/histogram.hpp with a coarser division: a bucket is a quarter of a power of two
 * wide at most. The last bucket holds all of half an hour and more. */
enum { DEPTH_PRECISION_BITS = 2, DEPTH_BUCKETS = 160 };

enum { DEPTH_SOFTIRQS = 10 };

/* What has a distribution. */
enum depth_wait {
    DEPTH_SCHEDULER, /* a thread of the worker could run and did not */
    DEPTH_QUEUE,     /* a packet in the queueing discipline */
    DEPTH_DRIVER,    /* in the call of the device's driver */
    DEPTH_RECEIVE,   /* from the host's stack until the worker reads it */
    DEPTH_SOFTIRQ,   /* the first of DEPTH_SOFTIRQS kinds */
    DEPTH_WAITS = DEPTH_SOFTIRQ + DEPTH_SOFTIRQS
};

enum depth_count {
    DEPTH_TIME_OUT, /* segments sent again: the timer ran out */
    DEPTH_FAST,     /* acknowledgements showed the loss */
    DEPTH_PROBE,    /* the last segment once more, before the timer */
    DEPTH_OTHER,
    DEPTH_QUEUE_BEGUN,     /* packets that were seen on their way into the queue */
    DEPTH_QUEUE_CUT,       /* segments that came of them on the way, of TCP */
    DEPTH_RECEIVE_UNKNOWN, /* buffers read whose arrival is not known */
    DEPTH_DROPPED,         /* beginnings that found no room */
    DEPTH_COUNTS
};

struct depth_distribution {
    unsigned long long count;
    unsigned long long sum_ns;
    unsigned long long max_ns; /* since the epoch began */
    unsigned long long epoch;
    unsigned long long buckets[DEPTH_BUCKETS]; /* NOLINT(*-avoid-c-arrays): C has no others */
};

struct depth_counts {
    unsigned long long values[DEPTH_COUNTS]; /* NOLINT(*-avoid-c-arrays) */
};

/* Sockets of the worker by cookie. */
enum depth_role { DEPTH_TEST = 1, DEPTH_CONTROL = 2 };

/* Ports by protocol: the key of the map of ports. */
static inline unsigned depth_port_key(unsigned protocol, unsigned short port) {
    return (protocol << 16U) | port;
}

/* The variables that both sides write. */
struct depth_shared {
    unsigned long long worker;  /* the kernel's own number of the worker's process */
    unsigned long long network; /* the worker's network namespace: where it lies in the kernel */
    unsigned long long epoch;   /* a new one: the maxima begin again */
};

/* Datagrams in the order of their arrival, which is that of reading them. */
enum { DEPTH_DATAGRAMS = 16384 };
struct depth_order {
    unsigned long long arrived;
    unsigned long long read;
};

#endif

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

/* What disturbs, each with its time. */
enum depth_event_kind {
    DEPTH_PREEMPTED,   /* a thread of the worker had to make room while it could run */
    DEPTH_WOKEN_LATE,  /* one waited for its processor after it was woken */
    DEPTH_MOVED,       /* one was put on another processor */
    DEPTH_IN_SOFTIRQ,  /* a processor was in a softirq */
    DEPTH_INTERRUPTED, /* a processor served a device's interrupt */
    DEPTH_SENT_AGAIN,  /* TCP sent segments of the worker again */
    DEPTH_FREQUENCY,   /* a processor's frequency was changed */
    DEPTH_HELD,        /* a packet of the worker lay in the queueing discipline */
    DEPTH_EVENT_KINDS
};

/* Of each batch the first so many events are kept; waits that are shorter are no events. */
enum { DEPTH_EVENTS = 16384, DEPTH_NOTABLE_NS = 10000, DEPTH_NAME_BYTES = 16 };

struct depth_event {
    unsigned long long begin_ns; /* CLOCK_MONOTONIC */
    unsigned long long duration_ns;
    unsigned kind; /* enum depth_event_kind */
    unsigned processor;
    unsigned detail; /* of a softirq its kind, of an interrupt its number, of segments sent again why,
                        of a frequency kHz */
    unsigned unused;
    char name[DEPTH_NAME_BYTES]; /* who had the processor, or the interrupt's; NOLINT(*-avoid-c-arrays) */
};

/* Datagrams in the order of their arrival, which is that of reading them. */
enum { DEPTH_DATAGRAMS = 16384 };
struct depth_order {
    unsigned long long arrived;
    unsigned long long read;
};

/* How many events there were, also such as were not kept. */
struct depth_noted {
    unsigned long long count;
};

#endif

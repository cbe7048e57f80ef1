/* What the eBPF programs and their reader agree on; plain C for both. */
#ifndef NETSONDE_KERNEL_TRACE_LAYOUT_H
#define NETSONDE_KERNEL_TRACE_LAYOUT_H

/* Buckets as of core/buckets.h: one is a quarter of a power of two wide at most. The last
 * holds all of half an hour and more. */
enum { TRACE_PRECISION_BITS = 2, TRACE_BUCKETS = 160 };

enum { TRACE_SOFTIRQS = 10 };

/* What has a distribution. */
enum trace_wait {
    TRACE_SCHEDULER, /* a thread of the worker could run and did not */
    TRACE_QUEUE,     /* a packet in the queueing discipline */
    TRACE_DRIVER,    /* in the call of the device's driver */
    TRACE_RECEIVE,   /* from the host's stack until the worker reads it */
    TRACE_SOFTIRQ,   /* the first of TRACE_SOFTIRQS kinds */
    TRACE_WAITS = TRACE_SOFTIRQ + TRACE_SOFTIRQS
};

enum trace_count {
    TRACE_TIME_OUT, /* segments sent again: the timer ran out */
    TRACE_FAST,     /* acknowledgements showed the loss */
    TRACE_PROBE,    /* the last segment once more, before the timer */
    TRACE_OTHER,
    TRACE_QUEUE_BEGUN,     /* packets that were seen on their way into the queue */
    TRACE_QUEUE_CUT,       /* segments that came of them on the way, of TCP */
    TRACE_RECEIVE_UNKNOWN, /* buffers read whose arrival is not known */
    TRACE_DROPPED,         /* beginnings that found no room */
    TRACE_CALLS,           /* system calls of the worker, but for those that are left out */
    TRACE_COUNTS
};

struct trace_distribution {
    unsigned long long count;
    unsigned long long sum_ns;
    unsigned long long max_ns; /* since the epoch began */
    unsigned long long epoch;
    unsigned long long buckets[TRACE_BUCKETS]; /* NOLINT(*-avoid-c-arrays): C has no others */
};

struct trace_counts {
    unsigned long long values[TRACE_COUNTS]; /* NOLINT(*-avoid-c-arrays) */
};

/* Sockets of the worker by cookie. */
enum trace_role { TRACE_TEST = 1, TRACE_CONTROL = 2 };

/* Ports by protocol: the key of the map of ports. */
static inline unsigned trace_port_key(unsigned protocol, unsigned short port) {
    return (protocol << 16U) | port;
}

/* The variables that both sides write. */
struct trace_shared {
    unsigned long long worker;  /* the kernel's own number of the worker's process */
    unsigned long long network; /* the worker's network namespace: where it lies in the kernel */
    unsigned long long epoch;   /* a new one: the maxima begin again */
    unsigned long long control; /* the control connection's descriptor: calls on it are no test's */
    unsigned long long reading; /* the number of the call that reads these maps */
};

/* What disturbs, each with its time. */
enum trace_event_kind {
    TRACE_PREEMPTED,   /* a thread of the worker had to make room while it could run */
    TRACE_WOKEN_LATE,  /* one waited for its processor after it was woken */
    TRACE_MOVED,       /* one was put on another processor */
    TRACE_IN_SOFTIRQ,  /* a processor was in a softirq */
    TRACE_INTERRUPTED, /* a processor served a device's interrupt */
    TRACE_SENT_AGAIN,  /* TCP sent segments of the worker again */
    TRACE_FREQUENCY,   /* a processor's frequency was changed */
    TRACE_HELD,        /* a packet of the worker lay in the queueing discipline */
    TRACE_EVENT_KINDS
};

/* Of each batch the first so many events are kept; waits that are shorter are no events. */
enum { TRACE_EVENTS = 16384, TRACE_NOTABLE_NS = 10000, TRACE_NAME_BYTES = 16 };

struct trace_event {
    unsigned long long begin_ns; /* CLOCK_MONOTONIC */
    unsigned long long duration_ns;
    unsigned kind; /* enum trace_event_kind */
    unsigned processor;
    unsigned detail; /* of a softirq its kind, of an interrupt its number, of segments sent again
                        why, of a frequency kHz */
    unsigned unused;
    char name[TRACE_NAME_BYTES]; /* who had the processor, or the interrupt's;
                                    NOLINT(*-avoid-c-arrays) */
};

/* Datagrams in the order of their arrival, which is that of reading them. */
enum { TRACE_DATAGRAMS = 16384 };
struct trace_order {
    unsigned long long arrived;
    unsigned long long read;
};

/* How many events there were, also such as were not kept. */
struct trace_noted {
    unsigned long long count;
};

#endif

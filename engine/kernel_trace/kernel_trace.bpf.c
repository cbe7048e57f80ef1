/* eBPF programs on tracepoints: how long the worker and its packets wait inside this host.
 *
 * They only count and note, into maps of fixed size. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "../core/buckets.h"
#include "kernel_types.h"
#include "layout.h"

/* This file may be used under the GPL, too: the kernel gives some helpers to such programs only. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Of the kernel's enumerations and of Ethernet and IP; they are fixed. */
enum { STATE_RECOVERY = 3, STATE_LOSS = 4 }; /* enum tcp_ca_state */
enum { PENDING_LOSS_PROBE = 5 };             /* ICSK_TIME_LOSS_PROBE */
enum { ETHERTYPE_IPV4 = 0x0800, ETHERTYPE_IPV6 = 0x86DD };
enum { PROTOCOL_TCP = 6, PROTOCOL_UDP = 17 };

enum {
    TYPE_STREAM = 1,
    TYPE_DATAGRAM = 2,
    FLAG_PEEK = 0x2,
    FLAG_ERRORS = 0x2000
}; /* SOCK_DGRAM, MSG_* */

#define MOST_DROPPED_TOGETHER 128
#define MOST_PACKETS 16384 /* on their way at once; the oldest give way */
#define MOST_THREADS 1024
#define MOST_SOCKETS 64

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, TRACE_WAITS);
    __type(key, u32);
    __type(value, struct trace_distribution);
} waits SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct trace_counts);
} counts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct trace_shared);
} shared SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MOST_SOCKETS);
    __type(key, u64);
    __type(value, u32);
} sockets SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MOST_SOCKETS);
    __type(key, u32);
    __type(value, u32);
} ports SEC(".maps");

/* A thread that could run. */
struct waiting {
    u64 since;
    u64 preempted;
    char by[TRACE_NAME_BYTES];
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MOST_THREADS);
    __type(key, u32);
    __type(value, struct waiting);
} runnable_since SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, MOST_PACKETS);
    __type(key, u64);
    __type(value, u64);
} queued_at SEC(".maps");

struct arrival {
    u64 at_ns; /* 0: it has been read */
    u64 protocol;
    u64 place; /* of a datagram: its number */
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, MOST_PACKETS);
    __type(key, u64);
    __type(value, struct arrival);
} arrived SEC(".maps");

/* When datagrams arrived, by their numbers; 0: it was dropped. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, TRACE_DATAGRAMS);
    __type(key, u32);
    __type(value, u64);
} datagrams SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct trace_order);
} order SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, TRACE_EVENTS);
    __type(key, u32);
    __type(value, struct trace_event);
} events SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct trace_noted);
} noted SEC(".maps");

/* What is going on at this processor: neither a driver's call nor a softirq moves to another. */
struct here {
    u64 packet;
    u64 driver_since;
    u64 softirq_since[TRACE_SOFTIRQS];
    u64 interrupt_since;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct here);
} going_on SEC(".maps");

static __always_inline u64 bucket_of(u64 ns) {
    const u64 bucket = sonde_bucket_of(ns, TRACE_PRECISION_BITS);
    return bucket < TRACE_BUCKETS ? bucket : TRACE_BUCKETS - 1;
}

/* The kernel's check of a bound is of a register, so the compiler must not compare a copy. */
#define keep_in_register(variable) asm volatile("" : "+r"(variable))

static __always_inline struct trace_shared* settings(void) {
    const u32 first = 0;
    return bpf_map_lookup_elem(&shared, &first);
}

static __always_inline struct here* this_processor(void) {
    const u32 first = 0;
    return bpf_map_lookup_elem(&going_on, &first);
}

/* Additions are atomic: an interrupt at this processor may come in between. */
static __always_inline void add_wait(u32 which, u64 since, u64 now) {
    struct trace_distribution* found = bpf_map_lookup_elem(&waits, &which);
    const struct trace_shared* set = settings();
    if (!found || !set) {
        return;
    }
    const u64 ns = now > since ? now - since : 0;
    u64 bucket = bucket_of(ns);
    __sync_fetch_and_add(&found->count, 1);
    __sync_fetch_and_add(&found->sum_ns, ns);
    keep_in_register(bucket);
    if (bucket < TRACE_BUCKETS) {
        __sync_fetch_and_add(&found->buckets[bucket], 1);
    }
    if (found->epoch != set->epoch) {
        found->epoch = set->epoch;
        found->max_ns = 0;
    }
    if (ns > found->max_ns) {
        found->max_ns = ns;
    }
}

static __always_inline void add_count(u32 which, u64 by) {
    const u32 first = 0;
    struct trace_counts* found = bpf_map_lookup_elem(&counts, &first);
    if (found && which < TRACE_COUNTS) {
        __sync_fetch_and_add(&found->values[which], by);
    }
}

/* Keeps an event, where there is room; who may be null. */
static __always_inline void note(u32 kind, u64 since, u64 now, u32 detail, const char* who) {
    const u32 first = 0;
    struct trace_noted* all = bpf_map_lookup_elem(&noted, &first);
    if (!all) {
        return;
    }
    const u64 place = __sync_fetch_and_add(&all->count, 1);
    const u32 key = (u32)place;
    struct trace_event* event = place < TRACE_EVENTS ? bpf_map_lookup_elem(&events, &key) : 0;
    if (!event) {
        return;
    }
    event->begin_ns = since;
    event->duration_ns = now > since ? now - since : 0;
    event->kind = kind;
    event->processor = bpf_get_smp_processor_id();
    event->detail = detail;
    event->name[0] = 0;
    if (who) {
        bpf_probe_read_kernel_str(event->name, sizeof event->name, who);
    }
}

static __always_inline void note_if_long(u32 kind, u64 since, u64 now, u32 detail,
                                         const char* who) {
    if (now >= since + TRACE_NOTABLE_NS) {
        note(kind, since, now, detail, who);
    }
}

/* --- whose ------------------------------------------------------------------------------------ */

/* Run once by the worker itself: inside a namespace it does not know its own number. */
SEC("raw_tp/sched_switch")
int who_am_i(void* ctx) {
    (void)ctx;
    struct trace_shared* set = settings();
    const struct task_struct* task = (const void*)bpf_get_current_task();
    if (set && !set->worker) {
        set->worker = bpf_get_current_pid_tgid() >> 32;
        set->network = (u64)BPF_CORE_READ(task, nsproxy, net_ns);
    }
    return 0;
}

static __always_inline u32 role_of(const struct sock* sk) {
    if (!sk) {
        return 0;
    }
    const u64 cookie = (u64)sk->__sk_common.skc_cookie.counter;
    const u32* role = cookie ? bpf_map_lookup_elem(&sockets, &cookie) : 0;
    return role ? *role : 0;
}

/* A packet stays its socket's in an emulated switch as well, whose queues are not this host's. */
static __always_inline int at_this_host(const struct sk_buff* packet) {
    const struct trace_shared* set = settings();
    const struct net_device* device = packet->dev;
    return set && device && (u64)device->nd_net.net == set->network;
}

static __always_inline int in_worker(void) {
    const struct trace_shared* set = settings();
    return set && bpf_get_current_pid_tgid() >> 32 == set->worker;
}

/* --- the scheduler ---------------------------------------------------------------------------- */

static __always_inline void can_run(u32 thread, const struct task_struct* instead) {
    struct waiting waiting = {bpf_ktime_get_ns(), instead != 0, ""};
    if (instead) {
        bpf_probe_read_kernel_str(waiting.by, sizeof waiting.by, instead->comm);
    }
    if (bpf_map_update_elem(&runnable_since, &thread, &waiting, BPF_ANY)) {
        add_count(TRACE_DROPPED, 1);
    }
}

static __always_inline int woken(const struct task_struct* task) {
    const struct trace_shared* set = settings();
    if (set && (u32)task->tgid == set->worker) {
        can_run((u32)task->pid, 0);
    }
    return 0;
}

SEC("tp_btf/sched_wakeup")
int on_wakeup(u64* ctx) { return woken((const struct task_struct*)ctx[0]); }

SEC("tp_btf/sched_wakeup_new")
int on_first_wakeup(u64* ctx) { return woken((const struct task_struct*)ctx[0]); }

/* before: who had the processor until now. */
static __always_inline void runs(u32 thread, const struct task_struct* before) {
    const struct waiting* waiting = bpf_map_lookup_elem(&runnable_since, &thread);
    if (!waiting) {
        return;
    }
    const u64 now = bpf_ktime_get_ns();
    add_wait(TRACE_SCHEDULER, waiting->since, now);
    if (waiting->preempted) {
        note(TRACE_PREEMPTED, waiting->since, now, 0, waiting->by);
    } else {
        note_if_long(TRACE_WOKEN_LATE, waiting->since, now, 0, before->comm);
    }
    bpf_map_delete_elem(&runnable_since, &thread);
}

SEC("tp_btf/sched_switch")
int on_switch(u64* ctx) {
    const struct trace_shared* set = settings();
    if (!set) {
        return 0;
    }
    const int preempted = (u8)ctx[0] != 0;
    const struct task_struct* before = (const struct task_struct*)ctx[1];
    const struct task_struct* next = (const struct task_struct*)ctx[2];
    if ((u32)before->tgid == set->worker && (preempted || before->__state == 0)) {
        can_run((u32)before->pid, next);
    }
    if ((u32)next->tgid == set->worker) {
        runs((u32)next->pid, before);
    }
    return 0;
}

SEC("tp_btf/sched_migrate_task")
int on_move(u64* ctx) {
    const struct trace_shared* set = settings();
    const struct task_struct* task = (const struct task_struct*)ctx[0];
    if (set && (u32)task->tgid == set->worker) {
        const u64 now = bpf_ktime_get_ns();
        note(TRACE_MOVED, now, now, (u32)ctx[1], 0);
    }
    return 0;
}

/* --- system calls ----------------------------------------------------------------------------- */

static __always_inline u64 first_argument(const void* registers) {
    if (bpf_core_field_exists(struct pt_regs___x86, di)) {
        return BPF_CORE_READ((const struct pt_regs___x86*)registers, di);
    }
    return BPF_CORE_READ((const struct pt_regs___arm*)registers, regs[0]);
}

SEC("tp_btf/sys_enter")
int on_call(u64* ctx) {
    const struct trace_shared* set = settings();
    if (in_worker() && set && ctx[1] != set->reading &&
        first_argument((const void*)ctx[0]) != set->control) {
        add_count(TRACE_CALLS, 1);
    }
    return 0;
}

/* --- the processor ---------------------------------------------------------------------------- */

SEC("tp_btf/irq_handler_entry")
int on_interrupt(u64* ctx) {
    (void)ctx;
    struct here* here = this_processor();
    if (here) {
        here->interrupt_since = bpf_ktime_get_ns();
    }
    return 0;
}

SEC("tp_btf/irq_handler_exit")
int on_interrupt_done(u64* ctx) {
    const struct irqaction* action = (const struct irqaction*)ctx[1];
    struct here* here = this_processor();
    if (here && here->interrupt_since) {
        note_if_long(TRACE_INTERRUPTED, here->interrupt_since, bpf_ktime_get_ns(), (u32)ctx[0],
                     action->name);
        here->interrupt_since = 0;
    }
    return 0;
}

SEC("tp_btf/cpu_frequency")
int on_frequency(u64* ctx) {
    const u64 now = bpf_ktime_get_ns();
    note(TRACE_FREQUENCY, now, now, (u32)ctx[0], 0);
    return 0;
}

/* --- softirqs --------------------------------------------------------------------------------- */

SEC("tp_btf/softirq_entry")
int on_softirq_entry(u64* ctx) {
    const u32 kind = (u32)ctx[0];
    struct here* here = this_processor();
    if (here && kind < TRACE_SOFTIRQS) {
        here->softirq_since[kind] = bpf_ktime_get_ns();
    }
    return 0;
}

SEC("tp_btf/softirq_exit")
int on_softirq_exit(u64* ctx) {
    const u32 kind = (u32)ctx[0];
    struct here* here = this_processor();
    if (here && kind < TRACE_SOFTIRQS && here->softirq_since[kind]) {
        const u64 now = bpf_ktime_get_ns();
        add_wait(TRACE_SOFTIRQ + kind, here->softirq_since[kind], now);
        note_if_long(TRACE_IN_SOFTIRQ, here->softirq_since[kind], now, kind, 0);
        here->softirq_since[kind] = 0;
    }
    return 0;
}

/* --- retransmissions -------------------------------------------------------------------------- */

SEC("tp_btf/tcp_retransmit_skb")
int on_retransmit(u64* ctx) {
    const struct sock* sk = (const struct sock*)ctx[0];
    const struct sk_buff* packet = (const struct sk_buff*)ctx[1];
    if (!role_of(sk)) {
        return 0;
    }
    const struct inet_connection_sock* connection = (const void*)sk;
    const u32 state = (u32)BPF_CORE_READ_BITFIELD_PROBED(connection, icsk_ca_state);
    const u32 pending = (u32)BPF_CORE_READ(connection, icsk_pending);
    /* One call sends several segments again where the device cuts them; the kernel counts those. */
    const struct tcp_skb_cb* notes =
        (const void*)((const char*)packet + bpf_core_field_offset(struct sk_buff, cb));
    const u32 segments = packet ? BPF_CORE_READ(notes, tcp_gso_segs) : 1;
    const u32 cause = state == STATE_LOSS             ? TRACE_TIME_OUT
                      : state == STATE_RECOVERY       ? TRACE_FAST
                      : pending == PENDING_LOSS_PROBE ? TRACE_PROBE
                                                      : TRACE_OTHER;
    add_count(cause, segments ? segments : 1);
    const u64 now = bpf_ktime_get_ns();
    note(TRACE_SENT_AGAIN, now, now, cause, 0);
    return 0;
}

/* --- a packet on its way out ------------------------------------------------------------------ */

SEC("tp_btf/net_dev_queue")
int on_queue(u64* ctx) {
    const struct sk_buff* packet = (const struct sk_buff*)ctx[0];
    if (role_of(packet->sk) != TRACE_TEST || !at_this_host(packet)) {
        return 0;
    }
    const u64 key = ctx[0];
    const u64 now = bpf_ktime_get_ns();
    add_count(TRACE_QUEUE_BEGUN, 1);
    if (bpf_map_update_elem(&queued_at, &key, &now, BPF_ANY)) {
        add_count(TRACE_DROPPED, 1);
    }
    return 0;
}

/* A segment that was cut from a packet on the way is a packet of its own and has no beginning of
 * its own; but it still has the time at which TCP sent it. */
static __always_inline u64 sent_at(const struct sk_buff* packet) {
    const struct sock* sk = packet->sk;
    if (role_of(sk) != TRACE_TEST || sk->sk_type != TYPE_STREAM || !at_this_host(packet)) {
        return 0;
    }
    return BPF_CORE_READ(packet, tstamp); /* a plain load would be merged with that of a map */
}

SEC("tp_btf/net_dev_start_xmit")
int on_driver(u64* ctx) {
    const u64 key = ctx[0];
    const u64* begun = bpf_map_lookup_elem(&queued_at, &key);
    const u64 since = begun ? *begun : sent_at((const struct sk_buff*)ctx[0]);
    if (!since) {
        return 0;
    }
    const u64 now = bpf_ktime_get_ns();
    add_wait(TRACE_QUEUE, since, now);
    note_if_long(TRACE_HELD, since, now, 0, 0);
    if (begun) {
        bpf_map_delete_elem(&queued_at, &key);
    } else {
        add_count(TRACE_QUEUE_CUT, 1);
    }
    struct here* here = this_processor();
    if (here) {
        here->packet = key;
        here->driver_since = now;
    }
    return 0;
}

SEC("tp_btf/net_dev_xmit")
int on_driver_done(u64* ctx) {
    struct here* here = this_processor();
    if (here && here->packet && here->packet == ctx[0]) {
        add_wait(TRACE_DRIVER, here->driver_since, bpf_ktime_get_ns());
        here->packet = 0;
    }
    return 0;
}

/* --- a packet on its way in ------------------------------------------------------------------- */

static __always_inline int has_port(u32 protocol, u16 port) {
    const u32 key = trace_port_key(protocol, __builtin_bswap16(port));
    return bpf_map_lookup_elem(&ports, &key) != 0;
}

/* The protocol of a packet for a port of the worker. 0: somebody else's, or a fragment. */
static __always_inline u32 protocol_if_ours(const struct sk_buff* packet) {
    const unsigned char* header = packet->data;
    u8 bytes[10];
    u32 protocol = 0;
    u32 length = 40;
    if (packet->protocol == __builtin_bswap16(ETHERTYPE_IPV4)) {
        if (bpf_probe_read_kernel(bytes, sizeof bytes, header)) {
            return 0;
        }
        protocol = bytes[9];
        length = (u32)(bytes[0] & 15U) * 4U;
        if ((bytes[6] & 0x3FU) || bytes[7]) {
            return 0;
        }
    } else if (packet->protocol == __builtin_bswap16(ETHERTYPE_IPV6)) {
        if (bpf_probe_read_kernel(bytes, sizeof bytes, header)) {
            return 0;
        }
        protocol = bytes[6];
    }
    if (protocol != PROTOCOL_TCP && protocol != PROTOCOL_UDP) {
        return 0;
    }
    u16 port = 0;
    if (bpf_probe_read_kernel(&port, sizeof port, header + length + 2)) {
        return 0;
    }
    return has_port(protocol, port) ? protocol : 0;
}

static __always_inline struct trace_order* datagram_order(void) {
    const u32 first = 0;
    return bpf_map_lookup_elem(&order, &first);
}

static __always_inline u64* datagram_at(u64 number) {
    const u32 place = (u32)(number % TRACE_DATAGRAMS);
    return bpf_map_lookup_elem(&datagrams, &place);
}

SEC("tp_btf/netif_receive_skb")
int on_arrival(u64* ctx) {
    const u64 key = ctx[0];
    const struct sk_buff* packet = (const struct sk_buff*)ctx[0];
    const u32 protocol = protocol_if_ours(packet);
    if (!protocol || !at_this_host(packet)) {
        return 0;
    }
    struct arrival arrival = {bpf_ktime_get_ns(), protocol, 0};
    struct trace_order* in_order = datagram_order();
    if (protocol == PROTOCOL_UDP && in_order) {
        arrival.place = __sync_fetch_and_add(&in_order->arrived, 1);
        u64* at_ns = datagram_at(arrival.place);
        if (at_ns) {
            *at_ns = arrival.at_ns;
        }
    }
    if (bpf_map_update_elem(&arrived, &key, &arrival, BPF_ANY)) {
        add_count(TRACE_DROPPED, 1);
    }
    return 0;
}

/* A datagram that found no room in the socket will not be read. */
SEC("tp_btf/kfree_skb")
int on_drop(u64* ctx) {
    const u64 key = ctx[0];
    const struct arrival* arrival = bpf_map_lookup_elem(&arrived, &key);
    const struct trace_order* in_order = datagram_order();
    if (arrival && in_order && arrival->protocol == PROTOCOL_UDP &&
        arrival->place >= in_order->read) {
        u64* at_ns = datagram_at(arrival->place);
        if (at_ns && *at_ns == arrival->at_ns) {
            *at_ns = 0;
        }
    }
    return 0;
}

static __always_inline void was_read(struct arrival* arrival) {
    if (arrival->at_ns) { /* else a later part of the same buffer */
        add_wait(TRACE_RECEIVE, arrival->at_ns, bpf_ktime_get_ns());
        arrival->at_ns = 0;
    }
}

/* TCP, when its bytes are copied. */
SEC("tp_btf/skb_copy_datagram_iovec")
int on_copy(u64* ctx) {
    const struct sk_buff* packet = (const struct sk_buff*)ctx[0];
    if (!in_worker() || role_of(packet->sk) != TRACE_TEST) {
        return 0;
    }
    const u64 key = ctx[0];
    struct arrival* arrival = bpf_map_lookup_elem(&arrived, &key);
    if (!arrival) {
        add_count(TRACE_RECEIVE_UNKNOWN, 1);
    } else if (arrival->protocol == PROTOCOL_TCP) {
        was_read(arrival);
    }
    return 0;
}

/* A datagram, when a call has read it. Calls do not say which it was; it is the one that has waited
 * longest. */
SEC("tp_btf/sock_recv_length")
int on_read(u64* ctx) {
    const struct sock* sk = (const struct sock*)ctx[0];
    const u32 flags = (u32)ctx[2];
    struct trace_order* in_order = datagram_order();
    if ((int)ctx[1] < 0 || (flags & (FLAG_PEEK | FLAG_ERRORS)) || !in_order || !in_worker() ||
        role_of(sk) != TRACE_TEST || sk->sk_type != TYPE_DATAGRAM) {
        return 0;
    }
    if (in_order->arrived - in_order->read > TRACE_DATAGRAMS) {
        in_order->read = in_order->arrived - TRACE_DATAGRAMS;
    }
    for (u32 i = 0; i < MOST_DROPPED_TOGETHER && in_order->read < in_order->arrived; ++i) {
        const u64* at_ns = datagram_at(in_order->read);
        ++in_order->read;
        if (at_ns && *at_ns) {
            add_wait(TRACE_RECEIVE, *at_ns, bpf_ktime_get_ns());
            return 0;
        }
    }
    add_count(TRACE_RECEIVE_UNKNOWN, 1);
    return 0;
}

/* The same on older kernels, whose calls show nothing: when the datagram is given back. The loader
 * takes one of the two. */
SEC("tp_btf/consume_skb")
int on_consumed(u64* ctx) {
    if (!in_worker()) {
        return 0;
    }
    const u64 key = ctx[0];
    struct arrival* arrival = bpf_map_lookup_elem(&arrived, &key);
    if (arrival && arrival->protocol == PROTOCOL_UDP) {
        was_read(arrival);
    }
    return 0;
}

/* The kernel's structures, as far as the eBPF programs read them. Where the fields lie in the
 * kernel at hand is put in when the programs are loaded (CO-RE). */
#ifndef NETSONDE_KERNEL_TRACE_KERNEL_TYPES_H
#define NETSONDE_KERNEL_TRACE_KERNEL_TYPES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define KERNELS __attribute__((preserve_access_index))

struct net; /* a network namespace */

struct nsproxy {
    struct net* net_ns;
} KERNELS;

struct task_struct {
    int pid;
    int tgid;
    struct nsproxy* nsproxy;
    unsigned int __state;
    char comm[16];
} KERNELS;

/* What a system call began with, of two kinds of machines. */
struct pt_regs___x86 {
    unsigned long di;
} KERNELS;

struct pt_regs___arm {
    u64 regs[31];
} KERNELS;

struct irqaction {
    const char* name;
} KERNELS;

struct sock_common {
    struct {
        long long counter;
    } skc_cookie;
} KERNELS;

struct sock {
    struct sock_common __sk_common;
    u16 sk_type;
} KERNELS;

struct inet_connection_sock {
    u8 icsk_ca_state : 5;
    u8 icsk_pending;
} KERNELS;

struct net_device {
    struct {
        struct net* net;
    } nd_net;
} KERNELS;

struct sk_buff {
    struct net_device* dev;
    struct sock* sk;
    u64 tstamp;
    u16 protocol;
    unsigned char* data;
    char cb[48];
} KERNELS;

struct tcp_skb_cb {
    u16 tcp_gso_segs;
} KERNELS;

#endif

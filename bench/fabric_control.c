// Round trips over one TCP connection in four ways by turns: waiting in recv(), and with the calls
// that libfabric's provider tcp makes for a message, asleep and spinning. It has nothing of
// libfabric or netsonde: what it shows is what these system calls cost.
//
//     fabric_control target PORT ROUNDS COUNT
//     fabric_control origin ADDRESS PORT ROUNDS COUNT     a line of medians, ns, for each round
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ways = 4, message_bytes = 64, most = 100000, patience_ms = 200 };

static int connection, waker[2];
static char message[message_bytes];
static double times[most];

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void fail(const char* what) {
    perror(what);
    exit(1);
}

static void in_recv(void) {
    if (recv(connection, message, message_bytes, MSG_WAITALL) != message_bytes)
        fail("recv");
}

static void spinning(void) {
    while (recv(connection, message, message_bytes, MSG_DONTWAIT) != message_bytes)
        ;
}

// Waits for the connection and for a socket of its own by which it is woken.
static int look(int timeout_ms) {
    struct pollfd both[2] = {{waker[0], POLLIN, 0}, {connection, POLLIN, 0}};
    char byte;
    poll(both, 2, timeout_ms);
    if (both[0].revents != 0 && timeout_ms == 0 && read(waker[0], &byte, 1) != 1)
        fail("read");
    return both[1].revents != 0;
}

// With each message that came the provider wakes itself.
static void take(void) {
    in_recv();
    if (write(waker[1], "", 1) != 1)
        fail("write");
}

static void asleep_with_its_calls(void) {
    int came = look(0) || look(0) || look(0);
    while (!came) {
        look(patience_ms);
        came = look(0);
    }
    take();
}

static void spinning_with_its_calls(void) {
    while (!look(0))
        ;
    take();
}

static void (*const wait_in[ways])(void) = {in_recv, asleep_with_its_calls, spinning,
                                            spinning_with_its_calls};

static int by_size(const void* a, const void* b) {
    return (*(const double*)a > *(const double*)b) - (*(const double*)a < *(const double*)b);
}

static void answer(void) {
    if (send(connection, message, message_bytes, MSG_NOSIGNAL) != message_bytes)
        fail("send");
}

static double median_ns(void (*wait)(void), int count) {
    for (int i = 0; i < count; ++i) {
        const double begun = now_ns();
        answer();
        wait();
        times[i] = now_ns() - begun;
    }
    qsort(times, (size_t)count, sizeof *times, by_size);
    return times[count / 2];
}

static void open_connection(int is_origin, const char* address, int port) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    if (is_origin) {
        inet_pton(AF_INET, address, &name.sin_addr);
        if (connect(fd, (struct sockaddr*)&name, sizeof name) != 0)
            fail("connect");
        connection = fd;
    } else {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (bind(fd, (struct sockaddr*)&name, sizeof name) != 0 || listen(fd, 1) != 0)
            fail("listen");
        connection = accept(fd, NULL, NULL);
    }
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, waker) != 0)
        fail("socketpair");
}

int main(int argc, char** argv) {
    const int is_origin = argc == 6 && strcmp(argv[1], "origin") == 0;
    if (argc != (is_origin ? 6 : 5))
        return 2;
    const int rounds = atoi(argv[argc - 2]), count = atoi(argv[argc - 1]);
    if (rounds < 1 || count < 1 || count > most)
        return 2;
    open_connection(is_origin, argv[2], atoi(argv[argc - 3]));
    for (int round = 0; round < rounds; ++round) {
        for (int way = 0; way < ways; ++way) {
            if (is_origin) {
                printf("%.0f%c", median_ns(wait_in[way], count), way + 1 == ways ? '\n' : ' ');
                continue;
            }
            for (int i = 0; i < count; ++i) {
                wait_in[way]();
                answer();
            }
        }
    }
    return 0;
}

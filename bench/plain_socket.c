/* The least that programs over sockets need, to see what is left of netsonde's and the peers' times:
 * the same calls, and nothing between two of them but what WORK_NS asks for.
 *
 *     plain_socket answer tcp|udp ADDRESS PORT BYTES BUFFER
 *     plain_socket ask tcp|udp ADDRESS PORT BYTES BUFFER SECONDS WORK_NS
 *     plain_socket take ADDRESS PORT BYTES BUFFER CUT
 *     plain_socket give ADDRESS PORT BYTES BUFFER SECONDS CUT
 *     plain_socket sink ADDRESS PORT BYTES BUFFER
 *     plain_socket stream ADDRESS PORT BYTES BUFFER SECONDS
 *
 * `ask` writes how many round trips there were, their median and 99.9th percentile in ns, of which
 * it leaves out the first 400 ms and the last 50 ms. `give` sends CUT datagrams in a call that the
 * kernel cuts up (UDP_SEGMENT); `take` takes them joined (UDP_GRO). `take` and `sink` write the bytes
 * that came and the ns from the first to the last of them; `give` and `stream` the bytes sent. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum { most_samples = 1 << 23, joined_bytes = 65536 };
static const int64_t first_ns = 400000000, last_ns = 50000000, second_ns = 1000000000;

struct end {
    int fd;
    int is_tcp;
    size_t bytes;
    char* buffer;
    struct sockaddr_in address;
};

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return second_ns * now.tv_sec + now.tv_nsec;
}

static void fail(const char* what) {
    fprintf(stderr, "plain_socket: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void require(int fine, const char* what) {
    if (!fine) {
        fail(what);
    }
}

/* A socket with the buffers that all tools are asked for. */
static struct end end_of(int is_tcp, char** words) {
    struct end end = {.is_tcp = is_tcp, .bytes = (size_t)atol(words[2])};
    const int buffer = atoi(words[3]);
    const int on = 1;
    end.fd = socket(AF_INET, is_tcp ? SOCK_STREAM : SOCK_DGRAM, 0);
    require(end.fd >= 0, "socket");
    setsockopt(end.fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    setsockopt(end.fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    setsockopt(end.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    end.address.sin_family = AF_INET;
    end.address.sin_port = htons((uint16_t)atoi(words[1]));
    require(inet_pton(AF_INET, words[0], &end.address.sin_addr) == 1, "address");
    end.buffer = calloc(1, end.bytes > joined_bytes ? end.bytes : joined_bytes);
    require(end.buffer != NULL, "memory");
    return end;
}

static void open_target(struct end* end) {
    require(bind(end->fd, (struct sockaddr*)&end->address, sizeof end->address) == 0, "bind");
    if (end->is_tcp) {
        require(listen(end->fd, 1) == 0, "listen");
        const int fd = accept(end->fd, NULL, NULL);
        require(fd >= 0, "accept");
        close(end->fd);
        end->fd = fd;
    }
}

static void open_origin(struct end* end) {
    require(connect(end->fd, (struct sockaddr*)&end->address, sizeof end->address) == 0, "connect");
}

static void without_delay(const struct end* end) {
    const int on = 1;
    if (end->is_tcp) {
        setsockopt(end->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
}

/* A whole message; 0 where the other end has closed. */
static int get(const struct end* end) {
    for (size_t there = 0; there < end->bytes;) {
        const ssize_t got = recv(end->fd, end->buffer + there, end->bytes - there, MSG_NOSIGNAL);
        if (got <= 0) {
            return 0;
        }
        there += (size_t)got;
    }
    return 1;
}

static int put(const struct end* end) {
    return send(end->fd, end->buffer, end->bytes, MSG_NOSIGNAL) == (ssize_t)end->bytes;
}

static void answer(struct end* end) {
    open_target(end);
    without_delay(end);
    if (!end->is_tcp) { /* to the one who asks first, as netsonde's connected sockets */
        struct sockaddr_in from;
        socklen_t size = sizeof from;
        require(recvfrom(end->fd, end->buffer, end->bytes, 0, (struct sockaddr*)&from, &size) > 0,
                "first message");
        require(connect(end->fd, (struct sockaddr*)&from, size) == 0, "connect");
        put(end);
    }
    while (get(end) && put(end)) {
    }
}

static int compare(const void* left, const void* right) {
    const int64_t a = *(const int64_t*)left, b = *(const int64_t*)right;
    return (a > b) - (a < b);
}

static void work(int64_t ns) {
    for (const int64_t end = now_ns() + ns; ns > 0 && now_ns() < end;) {
    }
}

static void ask(struct end* end, int64_t seconds, int64_t work_ns) {
    int64_t* const samples = malloc(most_samples * sizeof *samples);
    require(samples != NULL, "memory");
    open_origin(end);
    without_delay(end);
    const int64_t start = now_ns();
    const int64_t stop = start + seconds * second_ns;
    size_t kept = 0;
    for (int64_t begin = start; begin < stop && kept < most_samples;) {
        require(put(end), "send");
        require(get(end), "receive");
        const int64_t done = now_ns();
        if (begin > start + first_ns && done < stop - last_ns) {
            samples[kept++] = done - begin;
        }
        work(work_ns);
        begin = work_ns > 0 ? now_ns() : done;
    }
    require(kept > 0, "no round trips");
    qsort(samples, kept, sizeof *samples, compare);
    printf("%zu %lld %lld\n", kept, (long long)samples[kept / 2],
           (long long)samples[(size_t)((double)(kept - 1) * 0.999)]);
}

/* Until nothing came for a second after the first. */
static void take(struct end* end, int cut) {
    const int on = 1;
    const struct timeval patience = {1, 0};
    long long bytes = 0;
    int64_t first = 0, last = 0;
    open_target(end);
    if (!end->is_tcp && cut > 1) {
        require(setsockopt(end->fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on) == 0, "UDP_GRO");
    }
    const size_t most = end->is_tcp ? end->bytes : joined_bytes;
    for (;;) {
        const ssize_t got = recv(end->fd, end->buffer, most, 0);
        if (got <= 0) {
            break;
        }
        last = now_ns();
        if (bytes == 0) {
            first = last;
            setsockopt(end->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        }
        bytes += got;
    }
    printf("%lld %lld\n", bytes, (long long)(last - first));
}

static void give(struct end* end, int64_t seconds, int cut) {
    long long bytes = 0;
    open_origin(end);
    if (cut > 1) {
        const int each = (int)end->bytes;
        require(setsockopt(end->fd, IPPROTO_UDP, UDP_SEGMENT, &each, sizeof each) == 0,
                "UDP_SEGMENT");
    }
    const size_t whole = end->bytes * (size_t)cut;
    for (const int64_t stop = now_ns() + seconds * second_ns; now_ns() < stop;) {
        const ssize_t sent = send(end->fd, end->buffer, whole, MSG_NOSIGNAL);
        require(sent > 0 || errno == ENOBUFS || errno == EAGAIN, "send");
        bytes += sent > 0 ? sent : 0;
    }
    printf("%lld\n", bytes);
}

int main(int words, char** word) {
    const char* const what = words > 1 ? word[1] : "";
    const int asks = words == 9 && strcmp(what, "ask") == 0;
    if (asks || (words == 7 && strcmp(what, "answer") == 0)) {
        struct end end = end_of(strcmp(word[2], "tcp") == 0, word + 3);
        if (asks) {
            ask(&end, atol(word[7]), atol(word[8]));
        } else {
            answer(&end);
        }
    } else if (words == 7 && strcmp(what, "take") == 0) {
        struct end end = end_of(0, word + 2);
        take(&end, atoi(word[6]));
    } else if (words == 8 && strcmp(what, "give") == 0) {
        struct end end = end_of(0, word + 2);
        give(&end, atol(word[6]), atoi(word[7]));
    } else if (words == 6 && strcmp(what, "sink") == 0) {
        struct end end = end_of(1, word + 2);
        take(&end, 1);
    } else if (words == 7 && strcmp(what, "stream") == 0) {
        struct end end = end_of(1, word + 2);
        give(&end, atol(word[6]), 1);
    } else {
        fprintf(stderr, "plain_socket: see its source for what it takes\n");
        return 2;
    }
    return 0;
}

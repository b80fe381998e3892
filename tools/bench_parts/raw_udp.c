// Raw UDP: what the machine carries when an end does nothing but send or receive. Only for tools/bench.
//
//   raw-udp receive PORT                                      until the sender says that it has ended
//   raw-udp send ADDRESS PORT PAYLOAD SECONDS single|segment  by sendmmsg of single packets, or of bursts that
//                                                             the kernel cuts (UDP_SEGMENT)
// The receiver says "ready", and at its end as JSON the bytes and packets that came between the first and the last.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kBatch = 64, kRoom = 65536, kMostBurst = 65507, kMostSegments = 64, kEnds = 20, kSilence = 20 };
static const int kBuffer = 4 << 20;
static const char kEnd[] = "end";  // shorter than any payload

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void need(int good, const char* what) {
    if (good) return;
    perror(what);
    exit(1);
}

static int udp_socket(void) {
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    need(fd >= 0, "socket");
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kBuffer, sizeof(kBuffer));
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kBuffer, sizeof(kBuffer));
    return fd;
}

// Each message of the batch with a buffer of its own.
static void lay_out(struct mmsghdr* batch, struct iovec* vectors, size_t length) {
    memset(batch, 0, kBatch * sizeof(*batch));
    for (int i = 0; i < kBatch; ++i) {
        vectors[i].iov_base = calloc(1, kRoom);
        vectors[i].iov_len = length;
        batch[i].msg_hdr.msg_iov = &vectors[i];
        batch[i].msg_hdr.msg_iovlen = 1;
    }
}

static int segment_of(const struct msghdr* message, int length) {
    for (struct cmsghdr* c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR((struct msghdr*)message, c))
        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
            int size;
            memcpy(&size, CMSG_DATA(c), sizeof(size));
            return size;
        }
    return length;
}

static void receive(int port) {
    const int fd = udp_socket(), on = 1;
    setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof(on));
    const struct timeval silence = {kSilence, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence));
    const struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)};
    need(bind(fd, (const struct sockaddr*)&here, sizeof(here)) == 0, "bind");
    printf("ready\n");
    fflush(stdout);

    static struct mmsghdr batch[kBatch];
    static struct iovec vectors[kBatch];
    static char control[kBatch][CMSG_SPACE(sizeof(int))];
    lay_out(batch, vectors, kRoom);
    unsigned long long bytes = 0, packets = 0;
    double first = 0, last = 0;
    for (;;) {
        for (int i = 0; i < kBatch; ++i) {
            batch[i].msg_hdr.msg_control = control[i];
            batch[i].msg_hdr.msg_controllen = sizeof(control[i]);
        }
        const int got = recvmmsg(fd, batch, kBatch, MSG_WAITFORONE, NULL);
        need(got > 0, "recvmmsg");
        const double at = now();
        for (int i = 0; i < got; ++i) {
            const int length = batch[i].msg_len;
            if (length == sizeof(kEnd)) {
                printf("{\"bytes\": %llu, \"packets\": %llu, \"seconds\": %.6f}\n", bytes, packets, last - first);
                return;
            }
            const int segment = segment_of(&batch[i].msg_hdr, length);
            bytes += length;
            packets += (length + segment - 1) / segment;
        }
        if (first == 0) first = at;
        last = at;
    }
}

static void send_for(const char* address, int port, int payload, double seconds, int segmented) {
    const int fd = udp_socket();
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(port)};
    need(inet_pton(AF_INET, address, &there.sin_addr) == 1, "address");
    need(connect(fd, (const struct sockaddr*)&there, sizeof(there)) == 0, "connect");
    int segments = 1;
    if (segmented) {
        segments = kMostBurst / payload < kMostSegments ? kMostBurst / payload : kMostSegments;
        need(setsockopt(fd, SOL_UDP, UDP_SEGMENT, &payload, sizeof(payload)) == 0, "UDP_SEGMENT");
    }
    static struct mmsghdr batch[kBatch];
    static struct iovec vectors[kBatch];
    lay_out(batch, vectors, (size_t)payload * segments);
    const unsigned calls = segmented ? 1 : kBatch;  // a burst is a batch already
    const double end = now() + seconds;
    while (now() < end) need(sendmmsg(fd, batch, calls, 0) > 0, "sendmmsg");

    const int none = 0;
    if (segmented) setsockopt(fd, SOL_UDP, UDP_SEGMENT, &none, sizeof(none));
    for (int i = 0; i < kEnds; ++i) {
        usleep(20000);
        if (send(fd, kEnd, sizeof(kEnd), 0) < 0) break;  // the receiver has gone: it has heard
    }
}

int main(int count, char** words) {
    if (count == 3 && strcmp(words[1], "receive") == 0) {
        receive(atoi(words[2]));
    } else if (count == 7 && strcmp(words[1], "send") == 0 && atoi(words[4]) > (int)sizeof(kEnd) &&
               atoi(words[4]) <= kMostBurst) {
        send_for(words[2], atoi(words[3]), atoi(words[4]), atof(words[5]), strcmp(words[6], "segment") == 0);
    } else {
        fprintf(stderr, "usage: raw-udp receive PORT | raw-udp send ADDRESS PORT PAYLOAD SECONDS single|segment\n");
        return 2;
    }
    return 0;
}

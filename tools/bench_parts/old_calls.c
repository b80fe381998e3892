// Preloaded below valgrind, which does not know some calls of newer kernels: the older one that does the same
// here. Of openat2 the confinement is lost. Only for tools/bench instructions.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/openat2.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>

int epoll_pwait2(int fd, struct epoll_event* events, int most, const struct timespec* wait, const sigset_t* mask) {
    const int milliseconds = wait ? (int)(wait->tv_sec * 1000 + (wait->tv_nsec + 999999) / 1000000) : -1;
    return epoll_pwait(fd, events, most, milliseconds, mask);
}

long syscall(long number, long a, long b, long c, long d, long e, long f) {
    if (number == SYS_openat2) {
        const struct open_how* how = (const struct open_how*)c;
        number = SYS_openat;
        c = (long)how->flags;
        d = (long)how->mode;
    }
    long result;
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    register long sixth __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    if (result > -4096 && result < 0) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

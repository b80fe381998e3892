// Preloaded below valgrind, which does not know openat2: the older call, without its confinement. Only for tools/bench instructions.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

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

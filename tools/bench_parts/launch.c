// Starts a program whose peak of memory is its own. Only for tools/bench.
//
//   launch DESCRIPTOR COMMAND...  as a child of whoever started this, and writes its number there
//
// A peak begins with that of the process that forked, and python's is larger than many a program's.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char** words) {
    if (count < 3) return 2;
    const int told = atoi(words[1]), parent = getppid();
    const int child = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        close(told);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);  // it has gone before it could take us along
        execvp(words[2], words + 2);
        perror(words[2]);
        _exit(127);
    }
    return child < 0 || dprintf(told, "%d\n", child) < 0;
}

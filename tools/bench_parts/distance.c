// How far apart two processors are: the nanoseconds in which one writes a word, the other one sees it and answers.
// Only for tools/bench.
//
//   distance   between the first two that it may run on; the least of some tries, since others run there, too
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { TURNS = 2000, TRIES = 15 };

static _Alignas(128) atomic_int word;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

// The first processor of the set, which is left without it.
static int take(cpu_set_t* set) {
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
        if (!CPU_ISSET(processor, set)) continue;
        CPU_CLR(processor, set);
        return processor;
    }
    return -1;
}

static void stay_on(int processor) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void* answer(void* processor) {
    stay_on(*(int*)processor);
    for (int turn = 0; turn < TURNS * TRIES; ++turn) {
        while (atomic_load(&word) != 2 * turn + 1) {
        }
        atomic_store(&word, 2 * turn + 2);
    }
    return NULL;
}

int main(void) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) return 1;
    const int here = take(&allowed);
    int there = take(&allowed);
    pthread_t other;
    if (pthread_create(&other, NULL, answer, &there) != 0) return 1;
    stay_on(here);
    double least = 1e18;
    for (int try = 0, turn = 0; try < TRIES; ++try) {
        const double began = now();
        for (int end = turn + TURNS; turn < end; ++turn) {
            atomic_store(&word, 2 * turn + 1);
            while (atomic_load(&word) != 2 * turn + 2) {
            }
        }
        const double each = (now() - began) / TURNS;
        if (each < least) least = each;
    }
    pthread_join(other, NULL);
    return printf("%.0f\n", least) < 0;
}

// Preloaded into a program that flushes by fdatasync: a disk that answers that once it may.
// HELD_FLUSH=FILE: not while FILE exists; FILE.asked tells that somebody waits.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

extern "C" int fdatasync(int file) {
    using Flush = int (*)(int);
    static const Flush flush = reinterpret_cast<Flush>(::dlsym(RTLD_NEXT, "fdatasync"));
    const char* const held = std::getenv("HELD_FLUSH");
    constexpr useconds_t kPause = 1000;
    while (held != nullptr && ::access(held, F_OK) == 0) {
        ::close(::open((std::string(held) + ".asked").c_str(), O_WRONLY | O_CREAT, 0600));
        ::usleep(kPause);
    }
    return flush(file);
}

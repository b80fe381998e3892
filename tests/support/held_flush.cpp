// Preloaded into a program that flushes by fdatasync: a disk that answers once it may.
// HELD_FLUSH=FIFO: when somebody has opened that for writing, or it is gone; FIFO.asked tells that
// somebody waits.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

extern "C" int fdatasync(int file) {
    using Flush = int (*)(int);
    static const Flush flush = reinterpret_cast<Flush>(::dlsym(RTLD_NEXT, "fdatasync"));
    if (const char* const held = std::getenv("HELD_FLUSH")) {
        ::close(::open((std::string(held) + ".asked").c_str(), O_WRONLY | O_CREAT, 0600));
        ::close(::open(held, O_RDONLY));
    }
    return flush(file);
}

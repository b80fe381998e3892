// Preloaded into a program that has no memory while the file NO_MEMORY exists: not for a piece of
// NO_MEMORY_FROM bytes or more, in any thread but the first; where NO_MEMORY_IN_FIRST is set, in
// that one.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

namespace {

bool refused(std::size_t bytes) {
    static const char* const file = std::getenv("NO_MEMORY");
    static const char* const from = std::getenv("NO_MEMORY_FROM");
    static const bool in_first = std::getenv("NO_MEMORY_IN_FIRST") != nullptr;
    return file != nullptr && from != nullptr && bytes >= std::strtoul(from, nullptr, 10) &&
           (::syscall(SYS_gettid) == ::getpid()) == in_first && ::access(file, F_OK) == 0;
}

}  // namespace

void* operator new(std::size_t bytes) {
    void* const memory = refused(bytes) ? nullptr : std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

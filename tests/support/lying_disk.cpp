// Preloaded into a program that writes by pwrite: a disk that keeps something else than it was
// given. LYING_DISK=TIMES: so many writes of each length from 1000 bytes on go wrong, by one bit.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

extern "C" ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
    using Write = ssize_t (*)(int, const void*, size_t, off_t);
    static const Write write = reinterpret_cast<Write>(::dlsym(RTLD_NEXT, "pwrite"));
    static const char* const times = std::getenv("LYING_DISK");
    static std::mutex mutex;
    static std::map<size_t, int> left;  // by length
    constexpr size_t kLeast = 1000;
    if (times == nullptr || count < kLeast) return write(file, bytes, count, offset);
    {
        const std::lock_guard lock(mutex);
        const auto [at, fresh] = left.emplace(count, 0);
        if (fresh) at->second = std::atoi(times);
        if (at->second == 0) return write(file, bytes, count, offset);
        --at->second;
    }
    // Aligned as the writer's own, for direct I/O.
    constexpr size_t kPage = 4096;
    auto* const wrong =
        static_cast<char*>(std::aligned_alloc(kPage, (count + kPage - 1) / kPage * kPage));
    const auto* const right = static_cast<const char*>(bytes);
    for (size_t i = 0; i < count; ++i) wrong[i] = right[i];
    wrong[count / 2] = static_cast<char>(wrong[count / 2] ^ 1);
    const ssize_t written = write(file, wrong, count, offset);
    std::free(wrong);
    return written;
}

// The name that 64-bit offsets have on some systems.
extern "C" ssize_t pwrite64(int file, const void* bytes, size_t count, off_t offset) {
    return pwrite(file, bytes, count, offset);
}

#include "common/io/process.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <thread>

#include "tests/support/catch.h"

namespace lambda::io {
namespace {

// The fourth word of the kernel's struct sched_attr; 0 where it tells none.
std::uint64_t slice_ns() {
    std::array<std::uint64_t, 6> attributes{};
    if (::syscall(SYS_sched_getattr, 0, attributes.data(), sizeof attributes, 0) != 0) return 0;
    return attributes[3];
}

}  // namespace

TEST_CASE("process: a thread takes short slices, and those that it starts have the usual ones") {
    std::uint64_t usual = 0, own = 0, inherited = 0;
    std::thread([&] {
        usual = slice_ns();
        take_short_slices();
        own = slice_ns();
        std::thread([&] { inherited = slice_ns(); }).join();
    }).join();
    if (usual == 0) {
        WARN("skipped: this kernel has no slices of a thread's own (Linux 6.12)");
        return;
    }
    CHECK(own == 250'000);
    CHECK(own < usual);
    CHECK(inherited == usual);
}

}  // namespace lambda::io

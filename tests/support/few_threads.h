// A process that may start only so many more threads, whoever runs it: each new stack is so large
// that its address space holds no more of them.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/catch.h"

namespace lambda::testing {

class FewThreads {
  public:
    explicit FewThreads(unsigned count) {
        pthread_attr_t wide;
        REQUIRE(::pthread_getattr_default_np(&before_) == 0);
        REQUIRE(::pthread_getattr_default_np(&wide) == 0);
        REQUIRE(::pthread_attr_setstacksize(&wide, kStack) == 0);
        REQUIRE(::pthread_setattr_default_np(&wide) == 0);
        ::pthread_attr_destroy(&wide);
        std::uint64_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
        REQUIRE(::getrlimit(RLIMIT_AS, &limit_) == 0);
        const rlimit few{pages * page + count * kStack + kStack / 2, limit_.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_AS, &few) == 0);
    }
    FewThreads(const FewThreads&) = delete;
    FewThreads& operator=(const FewThreads&) = delete;
    ~FewThreads() {
        ::setrlimit(RLIMIT_AS, &limit_);
        ::pthread_setattr_default_np(&before_);
        ::pthread_attr_destroy(&before_);
    }

  private:
    static constexpr std::uint64_t kStack = std::uint64_t{4} << 30;
    pthread_attr_t before_{};
    rlimit limit_{};
};

}  // namespace lambda::testing

// A process that may open few files.
#pragma once

#include <sys/resource.h>

#include "tests/support/catch.h"

namespace lambda::testing {

class FewFiles {
  public:
    explicit FewFiles(rlim_t count) {
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
        const rlimit few{count, before_.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    }
    FewFiles(const FewFiles&) = delete;
    FewFiles& operator=(const FewFiles&) = delete;
    ~FewFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }

  private:
    rlimit before_{};
};

}  // namespace lambda::testing

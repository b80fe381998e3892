// SHA-256 (FIPS 180-4), for what must hold against who wants to forge; by OpenSSL, which uses what
// the processor has for it. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "common/base/cursor.h"

struct evp_md_ctx_st;

namespace lambda::transfer {

using Sha256 = std::array<std::byte, 32>;

Sha256 sha256(ByteView bytes);

// Of bytes that come piece by piece.
class Sha256State {
  public:
    Sha256State();
    void add(ByteView bytes);
    // Of all that was added so far.
    Sha256 finish() const;

  private:
    struct Free {
        void operator()(evp_md_ctx_st* context) const;
    };
    std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace lambda::transfer

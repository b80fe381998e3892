// Which passwords were found right lately, so that the next login with one of them costs a
// microsecond and not scrypt's tenth of a second: scripts that log in again and again, and
// dozens at once. Kept is a tag of the password under a key that only this process has had, for ten
// minutes from the last full proof; never the password. A wrong one is never known, so each guess
// costs scrypt (docs/decisions/0009). Bounded. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "common/base/time.h"

namespace lambda::server {

class KnownLogins {
  public:
    static constexpr std::size_t kMost = 1024;
    static constexpr Duration kLife = std::chrono::minutes(10);

    KnownLogins();
    // `stored`: as the account has it. With another password of the account it is another login.
    bool knows(std::string_view stored, std::string_view password, Time now) const;
    // verify_password() found it right. Those whose time is over go.
    void add(std::string_view stored, std::string_view password, Time now);
    // All of them.
    void forget();
    std::size_t size() const;

  private:
    using Tag = std::array<std::byte, 32>;
    struct Login {
        Tag tag{};
        Time expires;
    };
    Tag tag_of(std::string_view password) const;

    std::array<std::byte, 32> key_{};
    mutable std::mutex mutex_;
    std::map<std::string, Login, std::less<>> logins_;  // by the stored form
};

}  // namespace lambda::server

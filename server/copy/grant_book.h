// What accounts have handed to other servers: capabilities, each for one transfer of one path in
// one direction, for one peer, until it is presented (or may be no more) or its time is over; what
// may be presented again is for one transfer at a time (docs/protocol.md §11). Bounded. Pure;
// loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/base/time.h"
#include "common/base/units.h"
#include "common/session/copy.h"
#include "server/accounts.h"

namespace lambda::server {

struct Grant {
    std::string account;   // whose rights it passes on
    std::string password;  // that one's, as stored when it logged in: with another, it is void
    session::GrantRequest request;
};
constexpr const char* kAnotherAccount =
    "the account that granted this is no more, or has another password";

class GrantBook {
  public:
    static constexpr std::size_t kMost = 4096;
    static constexpr std::size_t kMostOfAccount = 256;
    // Of the records and names that grants hold beside their paths.
    static constexpr std::size_t kMostBytes = 64 * MiB;
    static constexpr std::size_t kMostBytesOfAccount = kMostBytes / 8;
    // After add(), however often it may be presented again: an account that hands something out
    // need not keep in mind for longer that it did.
    static constexpr Duration kLongestInAll = std::chrono::hours(24 * 7);
    static_assert(session::kLongestGrant <= kLongestInAll);
    static_assert(session::kLongestAgain <= kLongestInAll);

    // `token`: fresh and random. Fault::cut where too many, or too much, wait to be presented.
    Result<void> add(const std::string& token, Grant grant, Time now);
    // The grant, which is gone then, unless it may be presented again. Fault::session for a token
    // that is not known, used or too old; all three sound alike. One that another peer presents is
    // refused and stays: a stranger who saw a token cannot spend it. Likewise where `accounts` do
    // not have the one that granted it any more, or have it with another password.
    Result<Grant> claim(const std::string& token, const std::string& peer, const Accounts& accounts,
                        Time now);

    // Given back by this account, which granted it. False: it has none of that name, or a transfer
    // of it runs.
    bool drop(const std::string& token, const std::string& account);

    // Of a grant that may be presented again, by the sessions that did so:
    enum class Turn { free, taken, over };  // over: what it was for is done, or it is too old
    Turn turn(const std::string& token, Time now) const;
    // Which transfer of it runs.
    std::optional<std::uint64_t> running(const std::string& token) const;
    // Its turn is free. Until end(), what runs is not forgotten, however long it takes.
    void begin(const std::string& token, std::uint64_t transfer);
    // `well`: what it was for is done; else it may be presented again, from now on for so long.
    void end(const std::string& token, bool well, Time now);

    std::size_t size() const { return pages_.size(); }

  private:
    struct Page {
        Grant grant;
        Time last;     // from then on it is refused, whatever became of it
        Time expires;  // likewise, unless a transfer of it runs
        std::optional<std::uint64_t> transfer{};  // that runs
    };
    static void extend(Page& page, Time now);
    void forget_late(Time now);

    using Pages = std::map<std::string, Page>;
    void erase(Pages::iterator page);

    Pages pages_;  // by token
    std::size_t bytes_ = 0;
};

}  // namespace lambda::server

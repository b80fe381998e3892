#include "server/copy/grant_book.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <utility>

#include "common/base/assert.h"

namespace lambda::server {
namespace {

Error refused(Fault fault, std::string message, std::string remedy) {
    return Error{.fault = fault,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::local,
                 .remedy = std::move(remedy)};
}

// In the same time wherever they differ.
bool same(const std::string& one, const std::string& other) {
    return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace

Result<void> GrantBook::add(const std::string& token, Grant grant, Time now) {
    forget_late(now);
    const auto of_account = std::count_if(pages_.begin(), pages_.end(), [&](const auto& page) {
        return page.second.grant.account == grant.account;
    });
    if (pages_.size() >= kMost || static_cast<std::size_t>(of_account) >= kMostOfAccount) {
        return refused(Fault::cut, "too many grants wait to be presented", "try later");
    }
    const Time expires = now + grant.request.life;
    const bool fresh = pages_.emplace(token, Page{std::move(grant), expires}).second;
    LAMBDA_ASSERT(fresh);
    return {};
}

Result<Grant> GrantBook::claim(const std::string& token, const std::string& peer, Time now) {
    forget_late(now);
    auto found = pages_.end();
    for (auto page = pages_.begin(); page != pages_.end(); ++page) {
        if (same(page->first, token)) found = page;
    }
    if (found == pages_.end()) {
        return refused(Fault::session, "this grant is unknown, used or too old", {});
    }
    if (!same(found->second.grant.request.peer, peer)) {
        return refused(Fault::session,
                       peer.empty() ? "a grant is presented with the key that it was given to"
                                    : "this grant was given to another key",
                       {});
    }
    return std::move(pages_.extract(found).mapped().grant);
}

void GrantBook::forget_late(Time now) {
    std::erase_if(pages_, [now](const auto& page) { return now >= page.second.expires; });
}

}  // namespace lambda::server

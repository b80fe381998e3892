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

std::size_t bytes_of(const Grant& grant) {
    std::size_t bytes = grant.request.sync.size();
    for (const std::string& name : grant.request.names) bytes += sizeof name + name.size();
    return bytes;
}

}  // namespace

Result<void> GrantBook::add(const std::string& token, Grant grant, Time now) {
    forget_late(now);
    std::size_t own_pages = 0;
    std::size_t own_bytes = 0;
    for (const auto& [its_token, page] : pages_) {
        if (page.grant.account != grant.account) continue;
        ++own_pages;
        own_bytes += bytes_of(page.grant);
    }
    const std::size_t bytes = bytes_of(grant);
    if (pages_.size() >= kMost || own_pages >= kMostOfAccount || bytes_ + bytes > kMostBytes ||
        own_bytes + bytes > kMostBytesOfAccount) {
        return refused(Fault::cut, "too many grants wait to be presented", "try later");
    }
    bytes_ += bytes;
    const Time expires = now + grant.request.life;
    const Time last = now + kLongestInAll;
    const bool fresh =
        pages_.emplace(token, Page{.grant = std::move(grant), .last = last, .expires = expires})
            .second;
    LAMBDA_ASSERT(fresh);
    return {};
}

Result<Grant> GrantBook::claim(const std::string& token, const std::string& peer,
                               const Accounts& accounts, Time now) {
    forget_late(now);
    auto found = pages_.end();
    for (auto page = pages_.begin(); page != pages_.end(); ++page) {
        if (same(page->first, token)) found = page;
    }
    if (found == pages_.end() || now >= found->second.last) {
        return refused(Fault::session, "this grant is unknown, used or too old", {});
    }
    if (!same(found->second.grant.request.peer, peer)) {
        return refused(Fault::session,
                       peer.empty() ? "a grant is presented with the key that it was given to"
                                    : "this grant was given to another key",
                       {});
    }
    const Grant grant = found->second.grant;
    if (find_account(accounts, grant.account, grant.password) == nullptr) {
        return refused(Fault::session, kAnotherAccount, {});
    }
    if (grant.request.again > Duration{0}) {
        extend(found->second, now);
    } else {
        erase(found);
    }
    return grant;
}

bool GrantBook::drop(const std::string& token, const std::string& account) {
    const auto found = pages_.find(token);
    if (found == pages_.end() || found->second.transfer || found->second.grant.account != account) {
        return false;
    }
    erase(found);
    return true;
}

GrantBook::Turn GrantBook::turn(const std::string& token, Time now) const {
    const auto found = pages_.find(token);
    if (found == pages_.end()) return Turn::over;
    if (found->second.transfer) return Turn::taken;
    return now >= found->second.expires ? Turn::over : Turn::free;
}

std::optional<std::uint64_t> GrantBook::running(const std::string& token) const {
    const auto found = pages_.find(token);
    return found == pages_.end() ? std::nullopt : found->second.transfer;
}

void GrantBook::begin(const std::string& token, std::uint64_t transfer) {
    LAMBDA_ASSERT(!running(token));
    pages_.at(token).transfer = transfer;
}

void GrantBook::end(const std::string& token, bool well, Time now) {
    const auto found = pages_.find(token);
    if (found == pages_.end()) return;
    if (well) return erase(found);
    Page& page = found->second;
    page.transfer.reset();
    extend(page, now);
}

void GrantBook::extend(Page& page, Time now) {
    page.expires = std::min(now + page.grant.request.again, page.last);
}

void GrantBook::erase(Pages::iterator page) {
    bytes_ -= bytes_of(page->second.grant);
    pages_.erase(page);
}

void GrantBook::forget_late(Time now) {
    std::erase_if(pages_, [&](const auto& page) {
        const bool late = !page.second.transfer && now >= page.second.expires;
        if (late) bytes_ -= bytes_of(page.second.grant);
        return late;
    });
}

}  // namespace lambda::server

#include "server/join_book.h"

#include <openssl/crypto.h>

#include "common/base/assert.h"

namespace lambda::server {

void JoinBook::add(std::uint64_t transfer, const std::string& token, std::uint16_t stripes) {
    const bool fresh =
        pages_.emplace(transfer, Page{token, std::vector<std::uint32_t>(stripes, 0)}).second;
    LAMBDA_ASSERT(fresh);
}

void JoinBook::remove(std::uint64_t transfer) {
    pages_.erase(transfer);
}

std::optional<std::uint64_t> JoinBook::find(const std::string& token) const {
    std::optional<std::uint64_t> found;
    for (const auto& [transfer, page] : pages_) {
        const bool same = page.token.size() == token.size() &&
                          CRYPTO_memcmp(page.token.data(), token.data(), token.size()) == 0;
        if (same) found = transfer;
    }
    return found;
}

std::optional<std::uint64_t> JoinBook::claim(const session::JoinRequest& request) {
    const std::optional<std::uint64_t> found = find(request.token);
    if (!found) return std::nullopt;
    std::vector<std::uint32_t>& epochs = pages_.at(*found).epochs;
    if (request.stripe >= epochs.size() || request.epoch <= epochs[request.stripe]) {
        return std::nullopt;
    }
    epochs[request.stripe] = request.epoch;
    return found;
}

}  // namespace lambda::server

#include "server/known_logins.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>

#include "common/base/assert.h"
#include "common/io/cipher/random.h"

namespace lambda::server {

KnownLogins::KnownLogins() {
    io::fill_random(key_);
}

bool KnownLogins::knows(std::string_view stored, std::string_view password, Time now) const {
    const std::lock_guard lock(mutex_);
    const auto login = logins_.find(stored);
    if (login == logins_.end() || login->second.expires <= now) return false;
    const Tag tag = tag_of(password);
    return CRYPTO_memcmp(tag.data(), login->second.tag.data(), tag.size()) == 0;
}

void KnownLogins::add(std::string_view stored, std::string_view password, Time now) {
    const std::lock_guard lock(mutex_);
    std::erase_if(logins_, [&](const auto& login) { return login.second.expires <= now; });
    if (logins_.size() >= kMost && !logins_.contains(stored)) return;
    logins_.insert_or_assign(std::string(stored),
                             Login{.tag = tag_of(password), .expires = now + kLife});
}

void KnownLogins::forget() {
    const std::lock_guard lock(mutex_);
    logins_.clear();
}

std::size_t KnownLogins::size() const {
    const std::lock_guard lock(mutex_);
    return logins_.size();
}

KnownLogins::Tag KnownLogins::tag_of(std::string_view password) const {
    Tag tag{};
    const unsigned char* const made =
        HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
             reinterpret_cast<const unsigned char*>(password.data()), password.size(),
             reinterpret_cast<unsigned char*>(tag.data()), nullptr);
    LAMBDA_ASSERT(made != nullptr);
    return tag;
}

}  // namespace lambda::server

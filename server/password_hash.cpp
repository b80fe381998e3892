#include "server/password_hash.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "common/base/hex.h"
#include "common/base/units.h"
#include "common/io/cipher/random.h"
#include "common/session/facts.h"

namespace lambda::server {
namespace {

constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kHashBytes = 32;
constexpr std::uint64_t kMaxMemory = 64 * MiB;  // 128 N r bytes and a little

struct Cost {
    std::uint64_t n = 1 << 15;
    std::uint64_t r = 8;
    std::uint64_t p = 1;
};

using Salt = std::array<std::byte, kSaltBytes>;
using Hash = std::array<std::byte, kHashBytes>;

struct Stored {
    Cost cost;
    Salt salt{};
    Hash hash{};
};

std::optional<Hash> scrypt(std::string_view password, const Salt& salt, Cost cost) {
    const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(
        EVP_KDF_fetch(nullptr, "SCRYPT", nullptr), EVP_KDF_free);
    const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(
        EVP_KDF_CTX_new(kdf.get()), EVP_KDF_CTX_free);
    if (!context) return std::nullopt;
    // OpenSSL takes what it only reads by pointers to what is not const.
    std::string secret(password);
    Salt salt_copy = salt;
    std::uint64_t memory = kMaxMemory;
    const std::array<OSSL_PARAM, 7> parameters{
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_PASSWORD, secret.data(), secret.size()),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt_copy.data(), salt_copy.size()),
        OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_N, &cost.n),
        OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_R, &cost.r),
        OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_P, &cost.p),
        OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_MAXMEM, &memory),
        OSSL_PARAM_construct_end()};
    Hash hash{};
    const int good = EVP_KDF_derive(context.get(), reinterpret_cast<unsigned char*>(hash.data()),
                                    hash.size(), parameters.data());
    OPENSSL_cleanse(secret.data(), secret.size());
    if (good != 1) return std::nullopt;
    return hash;
}

std::vector<std::string_view> split(std::string_view text, char mark) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t end = text.find(mark);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::optional<Stored> parse_stored(std::string_view text) {
    const std::vector<std::string_view> parts = split(text, '$');
    if (parts.size() != 6 || parts[0] != "scrypt") return std::nullopt;
    const auto n = session::parse_number(parts[1]);
    const auto r = session::parse_number(parts[2]);
    const auto p = session::parse_number(parts[3]);
    const bool sane = n && r && p && *n >= 2 && *n <= 1 << 20 && (*n & (*n - 1)) == 0 && *r >= 1 &&
                      *r <= 64 && *p >= 1 && *p <= 16 && 128 * *n * *r < kMaxMemory;
    if (!sane) return std::nullopt;
    Stored stored{.cost = {.n = *n, .r = *r, .p = *p}};
    if (!parse_hex(parts[4], stored.salt) || !parse_hex(parts[5], stored.hash)) {
        return std::nullopt;
    }
    return stored;
}

std::string format_stored(const Stored& stored) {
    return "scrypt$" + std::to_string(stored.cost.n) + "$" + std::to_string(stored.cost.r) + "$" +
           std::to_string(stored.cost.p) + "$" + to_hex(stored.salt) + "$" + to_hex(stored.hash);
}

}  // namespace

Result<std::string> hash_password(std::string_view password) {
    Stored stored;
    io::fill_random(stored.salt);
    const std::optional<Hash> hash = scrypt(password, stored.salt, stored.cost);
    if (!hash) {
        return Error{.fault = Fault::unsupported,
                     .message = "cannot hash the password: OpenSSL's scrypt failed",
                     .path = {},
                     .side = Side::local,
                     .remedy = {}};
    }
    stored.hash = *hash;
    return format_stored(stored);
}

Result<bool> verify_password(std::string_view password, std::string_view stored_text) {
    const std::optional<Stored> stored = parse_stored(stored_text);
    if (!stored) return false;
    const std::optional<Hash> hash = scrypt(password, stored->salt, stored->cost);
    if (!hash) {
        return Error{.fault = Fault::cut,
                     .message = "cannot check a password: OpenSSL's scrypt has not the memory",
                     .path = {},
                     .side = Side::local,
                     .remedy = "tell who runs the server"};
    }
    return CRYPTO_memcmp(hash->data(), stored->hash.data(), kHashBytes) == 0;
}

bool is_password_hash(std::string_view stored) {
    return parse_stored(stored).has_value();
}

const std::string& dummy_password_hash() {
    static const std::string text = [] {
        Stored stored;
        io::fill_random(stored.salt);
        io::fill_random(stored.hash);
        return format_stored(stored);
    }();
    return text;
}

}  // namespace lambda::server

#include "common/io/tls/signature.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>

#include "common/io/tls/openssl_error.h"

namespace lambda::io {
namespace {

struct FreeContext {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using ContextPtr = std::unique_ptr<EVP_MD_CTX, FreeContext>;
struct FreeKey {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeKey>;

constexpr long kMostKeyBytes = 8192;  // RSA of 32,768 bits has 4 KiB

const unsigned char* octets(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

// Ed25519 and Ed448 digest for themselves (RFC 8032).
const EVP_MD* digest_for(const EVP_PKEY* key) {
    const bool by_itself = EVP_PKEY_is_a(key, "ED25519") == 1 || EVP_PKEY_is_a(key, "ED448") == 1;
    return by_itself ? nullptr : EVP_sha256();
}

}  // namespace

Result<Signature> sign(const TlsContext& context, std::string_view text) {
    ERR_clear_error();
    EVP_PKEY* const key = SSL_CTX_get0_privatekey(context.get());
    const ContextPtr signing(EVP_MD_CTX_new());
    Signature made{.bytes = {}, .public_key = public_key_of(context)};
    std::size_t bytes = 0;
    const auto failed = [] {
        return openssl_error(Fault::unsupported, "the server's key cannot sign", {});
    };
    if (key == nullptr || signing == nullptr || made.public_key.empty() ||
        EVP_DigestSignInit(signing.get(), nullptr, digest_for(key), nullptr, key) != 1 ||
        EVP_DigestSign(signing.get(), nullptr, &bytes, octets(text), text.size()) != 1) {
        return failed();
    }
    made.bytes.resize(bytes);
    if (EVP_DigestSign(signing.get(), reinterpret_cast<unsigned char*>(made.bytes.data()), &bytes,
                       octets(text), text.size()) != 1) {
        return failed();
    }
    made.bytes.resize(bytes);
    return made;
}

bool verifies(const Signature& signature, std::string_view text) {
    if (signature.public_key.size() > kMostKeyBytes) return false;
    const auto* at = reinterpret_cast<const unsigned char*>(signature.public_key.data());
    const auto* const end = at + signature.public_key.size();
    const KeyPtr key(d2i_PUBKEY(nullptr, &at, static_cast<long>(signature.public_key.size())));
    const ContextPtr context(EVP_MD_CTX_new());
    const bool good =
        key != nullptr && at == end && context != nullptr &&
        EVP_DigestVerifyInit(context.get(), nullptr, digest_for(key.get()), nullptr, key.get()) ==
            1 &&
        EVP_DigestVerify(context.get(),
                         reinterpret_cast<const unsigned char*>(signature.bytes.data()),
                         signature.bytes.size(), octets(text), text.size()) == 1;
    ERR_clear_error();
    return good;
}

std::vector<std::byte> public_key_of(const TlsContext& context) {
    X509* const certificate = SSL_CTX_get0_certificate(context.get());
    if (certificate == nullptr) return {};
    unsigned char* encoded = nullptr;
    const int length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &encoded);
    if (length <= 0) return {};
    const auto* const first = reinterpret_cast<const std::byte*>(encoded);
    std::vector<std::byte> key(first, first + length);
    OPENSSL_free(encoded);
    return key;
}

}  // namespace lambda::io

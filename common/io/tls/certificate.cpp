#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <span>

#include "common/io/file/replace_file.h"
#include "common/io/tls/openssl_error.h"
#include "common/io/tls/signature.h"
#include "common/io/tls/tls.h"
#include "common/io/tls/tls_peer.h"

namespace lambda::io {
namespace {

template <auto free_function>
struct Freed {
    template <typename T>
    void operator()(T* object) const {
        free_function(object);
    }
};
using BioPtr = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Freed<X509_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>>;

// Pinned certificates are judged by their key; a validity that ends would only break sites.
constexpr long kValidSeconds = 20L * 365 * 24 * 3600;
// A client's clock may be behind.
constexpr long kBackdatedSeconds = 24L * 3600;
constexpr std::size_t kLongestCommonName = 64;  // RFC 5280, ub-common-name

Result<CertificatePtr> read_certificate(const std::string& certificate_file) {
    ERR_clear_error();
    const BioPtr file(BIO_new_file(certificate_file.c_str(), "r"));
    CertificatePtr certificate(
        file != nullptr ? PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr) : nullptr);
    if (certificate == nullptr)
        return openssl_error(Fault::usage, "cannot read the certificate", certificate_file);
    return certificate;
}

bool set_names(X509* certificate, const std::string& host) {
    const std::string common_name = host.size() <= kLongestCommonName ? host : "lambda-ftpd";
    X509_NAME* subject = X509_get_subject_name(certificate);
    if (X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char*>(common_name.data()),
                                   static_cast<int>(common_name.size()), -1, 0) != 1 ||
        X509_set_issuer_name(certificate, subject) != 1) {
        return false;
    }
    const NamesPtr names(GENERAL_NAMES_new());
    GENERAL_NAME* name = GENERAL_NAME_new();
    if (names == nullptr || name == nullptr || sk_GENERAL_NAME_push(names.get(), name) == 0) {
        GENERAL_NAME_free(name);
        return false;
    }
    if (ASN1_OCTET_STRING* ip = a2i_IPADDRESS(host.c_str()); ip != nullptr) {
        GENERAL_NAME_set0_value(name, GEN_IPADD, ip);
    } else {
        ASN1_IA5STRING* dns = ASN1_IA5STRING_new();
        GENERAL_NAME_set0_value(name, GEN_DNS, dns);
        if (dns == nullptr ||
            ASN1_STRING_set(dns, host.data(), static_cast<int>(host.size())) != 1) {
            return false;
        }
    }
    return X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) == 1;
}

CertificatePtr self_signed(EVP_PKEY* key, const std::string& host) {
    CertificatePtr certificate(X509_new());
    if (certificate == nullptr) return nullptr;
    std::uint64_t serial = 0;
    if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1 ||
        X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1) != 1 ||
        X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kBackdatedSeconds) == nullptr ||
        X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kValidSeconds) == nullptr ||
        X509_set_pubkey(certificate.get(), key) != 1 || !set_names(certificate.get(), host) ||
        X509_sign(certificate.get(), key, nullptr) == 0) {
        return nullptr;
    }
    return certificate;
}

ByteView content_of(BIO* memory) {
    char* data = nullptr;
    const long length = BIO_get_mem_data(memory, &data);
    return std::as_bytes(std::span(data, static_cast<std::size_t>(length)));
}

}  // namespace

Fingerprint fingerprint_of(X509* certificate) {
    unsigned char* encoded = nullptr;
    const int length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &encoded);
    if (length <= 0) return {};
    const Fingerprint fingerprint =
        fingerprint_of_key(std::as_bytes(std::span(encoded, static_cast<std::size_t>(length))));
    OPENSSL_free(encoded);
    return fingerprint;
}

Fingerprint fingerprint_of_key(ByteView public_key) {
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256(reinterpret_cast<const unsigned char*>(public_key.data()), public_key.size(), digest);
    unsigned char text[4 * (SHA256_DIGEST_LENGTH / 3 + 1) + 1];
    const int characters = EVP_EncodeBlock(text, digest, sizeof digest);
    std::string base64(reinterpret_cast<const char*>(text), static_cast<std::size_t>(characters));
    base64.resize(base64.find_last_not_of('=') + 1);
    return "SHA256:" + base64;
}

Result<Fingerprint> certificate_fingerprint(const std::string& certificate_file) {
    const Result<CertificatePtr> certificate = read_certificate(certificate_file);
    if (!certificate) return certificate.error();
    return fingerprint_of(certificate->get());
}

Result<std::string> certificate_end(const std::string& certificate_file) {
    const Result<CertificatePtr> certificate = read_certificate(certificate_file);
    if (!certificate) return certificate.error();
    const ASN1_TIME* const end = X509_get0_notAfter(certificate->get());
    std::tm utc{};
    if (X509_cmp_current_time(end) >= 0 || ASN1_TIME_to_tm(end, &utc) != 1) return std::string();
    std::array<char, 16> day{};
    return std::string(day.data(), std::strftime(day.data(), day.size(), "%Y-%m-%d", &utc));
}

Result<void> make_certificate(const std::string& certificate_file, const std::string& key_file,
                              const std::string& host) {
    ERR_clear_error();
    const KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
    const CertificatePtr certificate = key != nullptr ? self_signed(key.get(), host) : nullptr;
    const BioPtr key_text(BIO_new(BIO_s_mem()));
    const BioPtr certificate_text(BIO_new(BIO_s_mem()));
    if (certificate == nullptr || key_text == nullptr || certificate_text == nullptr ||
        PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                 nullptr) != 1 ||
        PEM_write_bio_X509(certificate_text.get(), certificate.get()) != 1) {
        return openssl_error(Fault::unsupported, "cannot make a certificate", certificate_file);
    }
    // The key first: a certificate without its key would look finished to the next start.
    if (auto written = replace_file(key_file, content_of(key_text.get()), 0600); !written)
        return written;
    return replace_file(certificate_file, content_of(certificate_text.get()), 0644);
}

}  // namespace lambda::io

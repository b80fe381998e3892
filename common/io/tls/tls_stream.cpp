#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/io/tls/openssl_error.h"
#include "common/io/tls/tls.h"
#include "common/io/tls/tls_peer.h"

namespace lambda::io {

struct TlsStream::State {
    SSL* ssl = nullptr;
    int fd = -1;
    TlsPeer peer;
    std::string error;
    bool broken =
        false;  // after a fatal error no further call may reach OpenSSL (SSL_get_error(3))

    explicit State(int owned_fd) : fd(owned_fd) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        SSL_free(ssl);
        if (fd >= 0) ::close(fd);
    }

    bool attach(SSL_CTX* context);
    IoStatus fail(std::string why);
    // The meaning of a call that returned `outcome` without success.
    IoStatus status_of(int outcome, int error_number);
};

namespace {

bool is_ip_address(const std::string& host) {
    in6_addr scratch;
    return inet_pton(AF_INET, host.c_str(), &scratch) == 1 ||
           inet_pton(AF_INET6, host.c_str(), &scratch) == 1;
}

}  // namespace

bool TlsStream::State::attach(SSL_CTX* context) {
    ERR_clear_error();
    ssl = SSL_new(context);
    if (ssl == nullptr || SSL_set_fd(ssl, fd) != 1) {
        fail("cannot set up TLS: " + openssl_reason());
        return false;
    }
    SSL_set_app_data(ssl, &peer);
    return true;
}

IoStatus TlsStream::State::fail(std::string why) {
    error = std::move(why);
    broken = true;
    return IoStatus::failed;
}

IoStatus TlsStream::State::status_of(int outcome, int error_number) {
    if (!peer.refusal.empty()) return fail(peer.refusal);
    switch (SSL_get_error(ssl, outcome)) {
        case SSL_ERROR_WANT_READ:
            return IoStatus::want_read;
        case SSL_ERROR_WANT_WRITE:
            return IoStatus::want_write;
        case SSL_ERROR_ZERO_RETURN:
            return IoStatus::closed;
        case SSL_ERROR_SYSCALL:
            return fail(error_number != 0 ? std::strerror(error_number)
                                          : "the connection ended without close_notify");
        default:
            break;
    }
    const unsigned long code = ERR_peek_last_error();
    const int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
    const char* known = nullptr;
    if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        known = "the connection ended without close_notify";
    if (reason == SSL_R_WRONG_VERSION_NUMBER) known = "the answer is not TLS";
    if (known != nullptr) {
        ERR_clear_error();
        return fail(known);
    }
    return fail("TLS: " + openssl_reason());
}

TlsStream TlsStream::client(const TlsContext& context, int fd, const std::string& host) {
    TlsStream stream(std::make_unique<State>(fd));
    State& state = *stream.state_;
    if (!state.attach(context.get())) return stream;
    SSL_set_connect_state(state.ssl);
    if (host.empty()) return stream;
    X509_VERIFY_PARAM* expected = SSL_get0_param(state.ssl);
    if (is_ip_address(host)) {
        X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str());
    } else {
        // A common name is any text that the authority let pass (RFC 9525 §2).
        X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
        X509_VERIFY_PARAM_set1_host(expected, host.data(), host.size());
        SSL_ctrl(state.ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                 const_cast<char*>(host.c_str()));
    }
    return stream;
}

TlsStream TlsStream::server(const TlsContext& context, int fd) {
    TlsStream stream(std::make_unique<State>(fd));
    if (stream.state_->attach(context.get())) SSL_set_accept_state(stream.state_->ssl);
    return stream;
}

TlsStream::TlsStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsStream::TlsStream(TlsStream&&) noexcept = default;
TlsStream& TlsStream::operator=(TlsStream&&) noexcept = default;
TlsStream::~TlsStream() = default;

IoStatus TlsStream::handshake() {
    if (state_->broken) return IoStatus::failed;
    ERR_clear_error();
    errno = 0;
    const int outcome = SSL_do_handshake(state_->ssl);
    return outcome == 1 ? IoStatus::ok : state_->status_of(outcome, errno);
}

IoStatus TlsStream::read(ByteSpan into, std::size_t& got) {
    got = 0;
    if (state_->broken) return IoStatus::failed;
    if (into.empty()) return IoStatus::ok;
    ERR_clear_error();
    errno = 0;
    const int outcome = SSL_read_ex(state_->ssl, into.data(), into.size(), &got);
    return outcome == 1 ? IoStatus::ok : state_->status_of(outcome, errno);
}

void TlsStream::read_ahead() {
    SSL_set_read_ahead(state_->ssl, 1);
}

IoStatus TlsStream::write(ByteView from, std::size_t& written) {
    written = 0;
    if (state_->broken) return IoStatus::failed;
    if (from.empty()) return IoStatus::ok;
    ERR_clear_error();
    errno = 0;
    const int outcome = SSL_write_ex(state_->ssl, from.data(), from.size(), &written);
    return outcome == 1 ? IoStatus::ok : state_->status_of(outcome, errno);
}

void TlsStream::shutdown() {
    if (state_->broken || SSL_in_init(state_->ssl)) return;
    ERR_clear_error();
    SSL_shutdown(state_->ssl);
    ERR_clear_error();
}

int TlsStream::fd() const {
    return state_->fd;
}

const std::string& TlsStream::error() const {
    return state_->error;
}

bool TlsStream::refused_peer() const {
    if (!state_->broken || state_->ssl == nullptr) return false;
    const long found = SSL_get_verify_result(state_->ssl);
    // The latter is of a pinned key: under that name another machine answered.
    return found != X509_V_OK && found != X509_V_ERR_APPLICATION_VERIFICATION;
}

Fingerprint TlsStream::peer_fingerprint() const {
    if (!state_->peer.fingerprint.empty()) return state_->peer.fingerprint;
    X509* certificate = state_->ssl != nullptr ? SSL_get0_peer_certificate(state_->ssl) : nullptr;
    return certificate != nullptr ? fingerprint_of(certificate) : Fingerprint{};
}

std::optional<std::string> TlsStream::verified_client_name() const {
    if (state_->ssl == nullptr || SSL_is_server(state_->ssl) == 0 ||
        SSL_get_verify_result(state_->ssl) != X509_V_OK) {
        return std::nullopt;
    }
    X509* certificate = SSL_get0_peer_certificate(state_->ssl);
    if (certificate == nullptr) return std::nullopt;
    const X509_NAME* subject = X509_get_subject_name(certificate);
    const int place = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    // Two common names leave it open which of them is the account.
    if (place < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, place) >= 0) {
        return std::nullopt;
    }
    unsigned char* text = nullptr;
    const int length =
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, place)));
    if (length < 0) return std::nullopt;
    std::string name(reinterpret_cast<const char*>(text), static_cast<std::size_t>(length));
    OPENSSL_free(text);
    if (name.empty() || name.find('\0') != std::string::npos) return std::nullopt;
    return name;
}

std::string TlsStream::client_doubt() const {
    if (state_->ssl == nullptr || SSL_is_server(state_->ssl) == 0 ||
        SSL_get0_peer_certificate(state_->ssl) == nullptr || verified_client_name()) {
        return {};
    }
    const long result = SSL_get_verify_result(state_->ssl);
    return result != X509_V_OK ? X509_verify_cert_error_string(result)
                               : "it has not one common name";
}

std::string TlsStream::cipher_name() const {
    return state_->ssl != nullptr ? SSL_get_cipher_name(state_->ssl) : "";
}

Result<std::array<std::byte, 32>> TlsStream::export_key(const std::string& label,
                                                        ByteView context) const {
    std::array<std::byte, 32> key{};
    ERR_clear_error();
    if (state_->broken ||
        SSL_export_keying_material(state_->ssl, reinterpret_cast<unsigned char*>(key.data()),
                                   key.size(), label.data(), label.size(),
                                   reinterpret_cast<const unsigned char*>(context.data()),
                                   context.size(), 1) != 1) {
        return openssl_error(Fault::session, "cannot export a key from the session", {});
    }
    return key;
}

}  // namespace lambda::io

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "common/io/tls/openssl_error.h"
#include "common/io/tls/tls.h"
#include "common/io/tls/tls_peer.h"

namespace lambda::io {

struct TlsContext::State {
    SSL_CTX* context = nullptr;

    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { SSL_CTX_free(context); }
};

namespace {

// How a client judges the server's certificate. It belongs to the SSL_CTX, which every SSL keeps
// alive, so that a stream may outlive the TlsContext.
struct Policy {
    std::optional<Fingerprint> pinned;
    bool accept_unknown = false;
};

void free_policy(void*, void* policy, CRYPTO_EX_DATA*, int, long, void*) {
    delete static_cast<Policy*>(policy);
}

int policy_index() {
    static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_policy);
    return index;
}

int verify_server(X509_STORE_CTX* store, void* argument) {
    const Policy& policy = *static_cast<const Policy*>(argument);
    SSL* ssl =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    TlsPeer& peer = *static_cast<TlsPeer*>(SSL_get_app_data(ssl));
    peer.fingerprint = fingerprint_of(X509_STORE_CTX_get0_cert(store));
    if (policy.pinned) {
        if (!peer.fingerprint.empty() && peer.fingerprint == *policy.pinned) {
            X509_STORE_CTX_set_error(store, X509_V_OK);
            return 1;
        }
        peer.refusal = "the server's key has changed: " + *policy.pinned +
                       " is known for it, but it showed " + peer.fingerprint;
        X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
        return 0;
    }
    if (policy.accept_unknown) {
        X509_STORE_CTX_set_error(store, X509_V_OK);
        return 1;
    }
    if (X509_verify_cert(store) == 1) return 1;
    const int why = X509_STORE_CTX_get_error(store);
    const bool named = why == X509_V_ERR_HOSTNAME_MISMATCH || why == X509_V_ERR_IP_ADDRESS_MISMATCH;
    peer.refusal = std::string("the server's certificate does not verify: ") +
                   X509_verify_cert_error_string(why) +
                   (named ? "; dial it by a name that its certificate has"
                          : "; the authorities that are trusted must have the one that signed it");
    return 0;
}

// The handshake itself proves that the client has the key. What the verification found stays, for
// SSL_get_verify_result().
int take_any_client(X509_STORE_CTX* store, void*) {
    if (X509_verify_cert(store) == 1) return 1;
    if (X509_STORE_CTX_get_error(store) == X509_V_OK) {
        X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
    }
    return 1;
}

// A key with a passphrase is an error, never a prompt.
int no_passphrase(char*, int, int, void*) {
    return -1;
}

// Nothing of ours sends any. OpenSSL reads on behind each within one call, as long as they come,
// so that a peer that never stops would hold the caller's thread.
constexpr int kMostRenewals = 32;

void count_renewals(int sent, int, int content, const void* message, std::size_t bytes, SSL* ssl,
                    void*) {
    if (sent != 0 || content != SSL3_RT_HANDSHAKE || bytes == 0) return;
    const auto type = *static_cast<const unsigned char*>(message);
    if (type != SSL3_MT_KEY_UPDATE && type != SSL3_MT_NEWSESSION_TICKET) return;
    auto& peer = *static_cast<TlsPeer*>(SSL_get_app_data(ssl));
    if (++peer.renewals <= kMostRenewals) return;
    peer.refusal = "the peer renews its keys without end";
    SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN);  // ends the reading
}

SSL_CTX* make_context(const SSL_METHOD* method) {
    SSL_CTX* context = SSL_CTX_new(method);
    if (context == nullptr) return nullptr;
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    // Nothing is ever resumed: each connection proves the server's key anew, and there is no early
    // data without a ticket (docs/decisions/0006).
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    SSL_CTX_set_msg_callback(context, count_renewals);
    return context;
}

Result<void> use_certificate(SSL_CTX* context, const std::string& certificate_file,
                             const std::string& key_file) {
    if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
        return openssl_error(Fault::usage, "cannot use the certificate", certificate_file);
    }
    if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
        Error error = openssl_error(Fault::usage, "cannot use the private key", key_file);
        error.remedy =
            "it must hold the certificate's private key in PEM, without a passphrase; restore it";
        return error;
    }
    if (SSL_CTX_check_private_key(context) != 1) {
        return openssl_error(Fault::usage, "the key does not belong to the certificate", key_file);
    }
    return {};
}

// The same objects, not copies.
Result<void> share_certificate(SSL_CTX* context, SSL_CTX* server) {
    STACK_OF(X509)* chain = nullptr;
    SSL_CTX_get0_chain_certs(server, &chain);
    if (SSL_CTX_use_cert_and_key(context, SSL_CTX_get0_certificate(server),
                                 SSL_CTX_get0_privatekey(server), chain, 1) == 1)
        return {};
    return openssl_error(Fault::unsupported, "cannot use the server's certificate", {});
}

}  // namespace

Result<TlsContext> TlsContext::server(const std::string& certificate_file,
                                      const std::string& key_file,
                                      const std::string& client_ca_file, bool any_client_key) {
    ERR_clear_error();
    auto state = std::make_unique<State>();
    state->context = make_context(TLS_server_method());
    if (state->context == nullptr)
        return openssl_error(Fault::unsupported, "cannot set up TLS", {});
    if (auto used = use_certificate(state->context, certificate_file, key_file); !used) {
        return used.error();
    }
    if (!client_ca_file.empty()) {
        STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(client_ca_file.c_str());
        if (names == nullptr ||
            SSL_CTX_load_verify_locations(state->context, client_ca_file.c_str(), nullptr) != 1) {
            sk_X509_NAME_pop_free(names, X509_NAME_free);
            return openssl_error(Fault::usage, "cannot use the authorities of clients",
                                 client_ca_file);
        }
        SSL_CTX_set_client_CA_list(state->context, names);
        SSL_CTX_set_verify(state->context, SSL_VERIFY_PEER, nullptr);
    }
    if (any_client_key) {
        SSL_CTX_set_verify(state->context, SSL_VERIFY_PEER, nullptr);
        SSL_CTX_set_cert_verify_callback(state->context, take_any_client, nullptr);
    }
    return TlsContext(std::move(state));
}

Result<TlsContext> TlsContext::client(const ClientTrust& trust) {
    ERR_clear_error();
    auto state = std::make_unique<State>();
    state->context = make_context(TLS_client_method());
    if (state->context == nullptr)
        return openssl_error(Fault::unsupported, "cannot set up TLS", {});
    // Reading the system's authorities takes longer than all the rest of a short transfer.
    const bool by_authority = !trust.pinned && !trust.accept_unknown;
    if (trust.ca_file.empty()) {
        // Of a certificate of our own they may be what leads up to its authority.
        if (by_authority || !trust.certificate_file.empty())
            SSL_CTX_set_default_verify_paths(state->context);
    } else if (SSL_CTX_load_verify_locations(state->context, trust.ca_file.c_str(), nullptr) != 1) {
        return openssl_error(Fault::usage, "cannot use the authorities", trust.ca_file);
    }
    if (!trust.certificate_file.empty()) {
        const std::string& key_file =
            trust.key_file.empty() ? trust.certificate_file : trust.key_file;
        if (auto used = use_certificate(state->context, trust.certificate_file, key_file); !used) {
            return used.error();
        }
    }
    if (trust.identity != nullptr) {
        if (auto shared = share_certificate(state->context, trust.identity->get()); !shared)
            return shared.error();
    }
    auto* policy = new Policy{.pinned = trust.pinned, .accept_unknown = trust.accept_unknown};
    if (SSL_CTX_set_ex_data(state->context, policy_index(), policy) != 1) {
        delete policy;
        return openssl_error(Fault::unsupported, "cannot set up TLS", {});
    }
    SSL_CTX_set_verify(state->context, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_cert_verify_callback(state->context, verify_server, policy);
    return TlsContext(std::move(state));
}

TlsContext::TlsContext(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsContext::TlsContext(TlsContext&&) noexcept = default;
TlsContext& TlsContext::operator=(TlsContext&&) noexcept = default;
TlsContext::~TlsContext() = default;
SSL_CTX* TlsContext::get() const {
    return state_->context;
}

}  // namespace lambda::io

// TLS 1.3 on a non-blocking TCP socket (OpenSSL 3), readiness-driven: no thread, no event loop of
// its own. It uses a socket BIO, so that no byte of the connection hides in a buffer of ours and a
// stream can pass from the session's loop to an engine thread. One thread at a time.
//
// A write to a connection that the peer has reset raises SIGPIPE: programs that use this ignore it.
// After a read of less than was asked for, bytes may wait inside the record: read until want_read
// before waiting for the socket.
#pragma once

#include <openssl/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/cursor.h"
#include "common/base/result.h"

namespace lambda::io {

enum class IoStatus {
    ok,
    want_read,   // wait for the socket to be readable, then call again
    want_write,  // likewise writable
    closed,      // the peer ended the connection in order (close_notify)
    failed,      // error() tells why; an end without close_notify is a failure too
};

// "SHA256:" and 43 characters of base64, as ssh prints them; over the certificate's public key.
using Fingerprint = std::string;

class TlsContext;

struct ClientTrust {
    std::string ca_file;  // empty: the system's authorities
    // Set where the server is pinned in known_hosts: nothing but this key is accepted.
    std::optional<Fingerprint> pinned;
    // Accept any certificate here; the caller looks at TlsStream::peer_fingerprint() before it says
    // a secret.
    bool accept_unknown = false;
    std::string certificate_file, key_file;  // the client's own, both empty if none
    // In place of those files: what this server shows. Read while the client's context is made.
    const TlsContext* identity = nullptr;
};

class TlsContext {
  public:
    // The server's: certificate chain and key (PEM). Where `client_ca_file` is not empty, client
    // certificates are asked for; one that does not verify against it ends the handshake, none is
    // well. With `any_client_key` certificates are asked for in any case, and one that does not
    // verify is taken for its key: TlsStream::peer_fingerprint() has proved it, but
    // verified_client_name() gives nothing.
    static Result<TlsContext> server(const std::string& certificate_file,
                                     const std::string& key_file, const std::string& client_ca_file,
                                     bool any_client_key = false);
    static Result<TlsContext> client(const ClientTrust& trust);

    TlsContext(TlsContext&&) noexcept;
    TlsContext& operator=(TlsContext&&) noexcept;
    ~TlsContext();
    SSL_CTX* get() const;

  private:
    struct State;
    explicit TlsContext(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

class TlsStream {
  public:
    // Owns `fd` (non-blocking, connected) from here on. `host` is checked against the certificate
    // unless the key is pinned or accept_unknown is set.
    static TlsStream client(const TlsContext& context, int fd, const std::string& host);
    static TlsStream server(const TlsContext& context, int fd);

    TlsStream(TlsStream&&) noexcept;
    TlsStream& operator=(TlsStream&&) noexcept;
    ~TlsStream();  // closes the socket

    IoStatus handshake();
    IoStatus read(ByteSpan into, std::size_t& got);
    // From now on a call takes all that the socket holds, and not a record's head and body one by
    // one. read() must then be called until it says want_read: the socket does not tell of the
    // rest.
    void read_ahead();
    IoStatus write(ByteView from, std::size_t& written);
    // Sends close_notify; does not wait for the peer's.
    void shutdown();

    int fd() const;
    const std::string& error() const;
    // Whether it failed because the peer's certificate does not verify, as the next will.
    bool refused_peer() const;
    // Empty if the peer showed no certificate; also there after a handshake that refused it.
    Fingerprint peer_fingerprint() const;
    // The subject's one common name, if the certificate verified.
    std::optional<std::string> verified_client_name() const;
    // Why the certificate that the client showed gives no name. Empty: it does, or it showed none.
    std::string client_doubt() const;
    std::string cipher_name() const;
    // RFC 8446 §7.5.
    Result<std::array<std::byte, 32>> export_key(const std::string& label, ByteView context) const;

  private:
    struct State;
    explicit TlsStream(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// The fingerprint of the certificate in a PEM file.
Result<Fingerprint> certificate_fingerprint(const std::string& certificate_file);
// The day on which it ended, as 2026-01-31; empty while it holds.
Result<std::string> certificate_end(const std::string& certificate_file);
// A fresh Ed25519 key and self-signed certificate for `host`, 0600 and 0644, written atomically.
Result<void> make_certificate(const std::string& certificate_file, const std::string& key_file,
                              const std::string& host);

}  // namespace lambda::io

#include <sys/stat.h>

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <csignal>
#include <memory>

#include "common/io/tls/tls.h"
#include "tests/support/catch.h"
#include "tests/unit/io/net/loopback.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

namespace {

ByteView bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

struct Certificate {
    Folder folder;
    std::string file = folder / "server.pem";
    std::string key = folder / "server.key";
    Fingerprint fingerprint;

    explicit Certificate(const std::string& host = "localhost") {
        REQUIRE(make_certificate(file, key, host).ok());
        fingerprint = certificate_fingerprint(file).value();
    }
};

// As old tools make them: with a name in the subject alone.
void leave_out_alternative_names(const Certificate& certificate) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> key_file(
        BIO_new_file(certificate.key.c_str(), "r"), BIO_free);
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
        PEM_read_bio_PrivateKey(key_file.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
    const std::unique_ptr<BIO, decltype(&BIO_free)> file(
        BIO_new_file(certificate.file.c_str(), "r+"), BIO_free);
    const std::unique_ptr<X509, decltype(&X509_free)> made(
        PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr), X509_free);
    REQUIRE((key != nullptr && made != nullptr));
    const int names = X509_get_ext_by_NID(made.get(), NID_subject_alt_name, -1);
    REQUIRE(names >= 0);
    X509_EXTENSION_free(X509_delete_ext(made.get(), names));
    REQUIRE(X509_sign(made.get(), key.get(), nullptr) > 0);
    REQUIRE(BIO_seek(file.get(), 0) == 0);
    REQUIRE(PEM_write_bio_X509(file.get(), made.get()) == 1);
    // It is shorter now; what is left of the old one would follow it.
    REQUIRE(::truncate(certificate.file.c_str(), BIO_tell(file.get())) == 0);
}

struct Pair {
    TlsStream client;
    TlsStream server;
    IoStatus client_status = IoStatus::want_read;
    IoStatus server_status = IoStatus::want_read;

    Pair(const TlsContext& client_context, const TlsContext& server_context,
         const std::string& host)
        : Pair(client_context, server_context, host, tcp_pair()) {}
    Pair(const TlsContext& client_context, const TlsContext& server_context,
         const std::string& host, std::pair<int, int> sockets)
        : client(TlsStream::client(client_context, sockets.first, host)),
          server(TlsStream::server(server_context, sockets.second)) {
        ::signal(SIGPIPE, SIG_IGN);
        for (int turns = 0;
             turns < 100000 && (unfinished(client_status) || unfinished(server_status)); ++turns) {
            if (unfinished(client_status)) client_status = client.handshake();
            if (unfinished(server_status)) server_status = server.handshake();
        }
    }
    static bool unfinished(IoStatus status) {
        return status == IoStatus::want_read || status == IoStatus::want_write;
    }
};

IoStatus read_when_ready(TlsStream& stream, ByteSpan into, std::size_t& got) {
    IoStatus status = IoStatus::want_read;
    for (int turns = 0; turns < 1000000 && status == IoStatus::want_read; ++turns) {
        status = stream.read(into, got);
    }
    return status;
}

TlsContext server_context(const Certificate& certificate, const std::string& client_ca = {}) {
    return TlsContext::server(certificate.file, certificate.key, client_ca).value();
}

TlsContext pinned_client(const Fingerprint& fingerprint) {
    ClientTrust trust;
    trust.pinned = fingerprint;
    return TlsContext::client(trust).value();
}

}  // namespace

TEST_CASE("TLS: a pinned server, bytes both ways, the same exported key") {
    const Certificate certificate;
    const TlsContext server = server_context(certificate);
    const TlsContext client = pinned_client(certificate.fingerprint);
    Pair pair(client, server, "no.such.name");
    REQUIRE(pair.client_status == IoStatus::ok);
    REQUIRE(pair.server_status == IoStatus::ok);
    CHECK(certificate.fingerprint.size() == 7 + 43);
    CHECK(pair.client.peer_fingerprint() == certificate.fingerprint);
    CHECK(pair.server.peer_fingerprint().empty());
    CHECK_FALSE(pair.server.verified_client_name().has_value());

    std::byte buffer[64];
    std::size_t count = 0;
    CHECK(pair.server.read(buffer, count) == IoStatus::want_read);
    for (auto [from, to] : {std::pair{&pair.client, &pair.server}, {&pair.server, &pair.client}}) {
        REQUIRE(from->write(bytes_of("a frame"), count) == IoStatus::ok);
        REQUIRE(count == 7);
        REQUIRE(read_when_ready(*to, buffer, count) == IoStatus::ok);
        CHECK(std::string(reinterpret_cast<char*>(buffer), count) == "a frame");
    }

    const auto client_key = pair.client.export_key("EXPORTER-lambda-ftp-1", bytes_of("context"));
    const auto server_key = pair.server.export_key("EXPORTER-lambda-ftp-1", bytes_of("context"));
    const auto other = pair.client.export_key("EXPORTER-lambda-ftp-1", bytes_of("contexu"));
    REQUIRE((client_key.ok() && server_key.ok() && other.ok()));
    CHECK(*client_key == *server_key);
    CHECK_FALSE(*client_key == *other);
}

TEST_CASE("TLS: a server whose key is not the pinned one is refused, with both fingerprints") {
    const Certificate certificate;
    const Certificate known;
    const TlsContext server = server_context(certificate);
    const TlsContext client = pinned_client(known.fingerprint);
    Pair pair(client, server, "localhost");
    CHECK(pair.client_status == IoStatus::failed);
    CHECK(pair.client.error().find(known.fingerprint) != std::string::npos);
    CHECK(pair.client.error().find(certificate.fingerprint) != std::string::npos);
    CHECK(pair.server_status == IoStatus::failed);
    CHECK_FALSE(pair.client.refused_peer());  // another machine may have answered
    CHECK_FALSE(pair.client.export_key("EXPORTER-lambda-ftp-1", {}).ok());
    std::size_t count = 0;
    CHECK(pair.client.write(bytes_of("secret"), count) == IoStatus::failed);
}

TEST_CASE("TLS: an authority accepts its own certificate for its own name alone") {
    const std::string name = GENERATE(as<std::string>{}, "localhost", "127.0.0.1", "::1");
    const Certificate certificate(name);
    const TlsContext server = server_context(certificate);
    ClientTrust trust;
    trust.ca_file = certificate.file;
    const TlsContext client = TlsContext::client(trust).value();
    CHECK(Pair(client, server, name).client_status == IoStatus::ok);
    Pair wrong_name(client, server, "other.example");
    CHECK(wrong_name.client_status == IoStatus::failed);
    CHECK(wrong_name.client.error().find("does not verify") != std::string::npos);
    CHECK(wrong_name.client.refused_peer());
    CHECK_FALSE(Pair(client, server, name).client.refused_peer());

    const Certificate stranger;
    const TlsContext stranger_context = server_context(stranger);
    CHECK(Pair(client, stranger_context, name).client_status == IoStatus::failed);

    trust.accept_unknown = true;
    const TlsContext trusting = TlsContext::client(trust).value();
    Pair accepted(trusting, stranger_context, name);
    CHECK(accepted.client_status == IoStatus::ok);
    CHECK(accepted.client.peer_fingerprint() == stranger.fingerprint);
}

TEST_CASE("TLS: a name in the subject alone is none, whoever vouches for it") {
    const Certificate certificate;
    leave_out_alternative_names(certificate);
    const TlsContext server = server_context(certificate);
    ClientTrust trust;
    trust.ca_file = certificate.file;
    const TlsContext client = TlsContext::client(trust).value();
    Pair pair(client, server, "localhost");
    CHECK(pair.client_status == IoStatus::failed);
    CHECK(pair.client.refused_peer());
    const Fingerprint fingerprint = certificate_fingerprint(certificate.file).value();
    CHECK(Pair(pinned_client(fingerprint), server, "localhost").client_status == IoStatus::ok);
}

TEST_CASE("TLS: a client certificate gives the account's name, if it verifies") {
    const Certificate certificate;
    const Certificate alice("alice");
    const Certificate mallory("alice");
    const TlsContext server = server_context(certificate, alice.file);
    ClientTrust trust;
    trust.pinned = certificate.fingerprint;
    trust.certificate_file = alice.file;
    trust.key_file = alice.key;
    {
        const TlsContext client = TlsContext::client(trust).value();
        Pair pair(client, server, "localhost");
        REQUIRE(pair.server_status == IoStatus::ok);
        CHECK(pair.server.verified_client_name() == "alice");
        CHECK_FALSE(pair.client.verified_client_name().has_value());
    }
    trust.certificate_file = mallory.file;
    trust.key_file = mallory.key;
    {
        const TlsContext client = TlsContext::client(trust).value();
        Pair pair(client, server, "localhost");
        CHECK(pair.server_status == IoStatus::failed);
        CHECK_FALSE(pair.server.verified_client_name().has_value());
    }
    const TlsContext bare = pinned_client(certificate.fingerprint);
    Pair pair(bare, server, "localhost");
    REQUIRE(pair.server_status == IoStatus::ok);
    CHECK_FALSE(pair.server.verified_client_name().has_value());
    CHECK(pair.server.client_doubt().empty());
}

TEST_CASE("TLS: any client key is proved where it is asked for, and gives no name") {
    const Certificate certificate;
    const Certificate alice("alice");
    const Certificate mallory("alice");
    const bool with_authority = GENERATE(false, true);
    const std::string authority = with_authority ? alice.file : std::string();
    const TlsContext server =
        TlsContext::server(certificate.file, certificate.key, authority, true).value();
    ClientTrust trust;
    trust.pinned = certificate.fingerprint;
    for (const Certificate* shown : {&alice, &mallory}) {
        trust.certificate_file = shown->file;
        trust.key_file = shown->key;
        const TlsContext client = TlsContext::client(trust).value();
        Pair pair(client, server, "localhost");
        REQUIRE(pair.client_status == IoStatus::ok);
        REQUIRE(pair.server_status == IoStatus::ok);
        CHECK(pair.server.peer_fingerprint() == shown->fingerprint);
        const bool vouched = shown == &alice && !authority.empty();
        CHECK(pair.server.verified_client_name().has_value() == vouched);
        CHECK(pair.server.client_doubt().empty() == vouched);
    }
    const TlsContext bare = pinned_client(certificate.fingerprint);
    Pair pair(bare, server, "localhost");
    REQUIRE(pair.server_status == IoStatus::ok);
    CHECK(pair.server.peer_fingerprint().empty());
}

TEST_CASE("TLS: an end in order is told from a cut") {
    const Certificate certificate;
    const TlsContext server = server_context(certificate);
    const TlsContext client = pinned_client(certificate.fingerprint);
    std::byte buffer[16];
    std::size_t count = 0;
    {
        Pair pair(client, server, "localhost");
        pair.client.shutdown();
        CHECK(read_when_ready(pair.server, buffer, count) == IoStatus::closed);
    }
    {
        Pair pair(client, server, "localhost");
        ::shutdown(pair.client.fd(), SHUT_WR);
        CHECK(read_when_ready(pair.server, buffer, count) == IoStatus::failed);
        CHECK(pair.server.error() == "the connection ended without close_notify");
        CHECK(pair.server.read(buffer, count) == IoStatus::failed);
    }
}

TEST_CASE("TLS: plain text and older versions get no session") {
    const Certificate certificate;
    const TlsContext server = server_context(certificate);
    const auto [client_fd, server_fd] = tcp_pair();
    const Descriptor client(client_fd);
    TlsStream stream = TlsStream::server(server, server_fd);
    REQUIRE(::write(client_fd, "USER alice\r\n", 12) == 12);
    IoStatus status = IoStatus::want_read;
    for (int turns = 0; turns < 100000 && Pair::unfinished(status); ++turns) {
        status = stream.handshake();
    }
    CHECK(status == IoStatus::failed);
    CHECK_FALSE(stream.error().empty());
}

TEST_CASE("TLS: a full socket takes a part, and the rest later from another buffer") {
    const Certificate certificate;
    const TlsContext server = server_context(certificate);
    const TlsContext client = pinned_client(certificate.fingerprint);
    Pair pair(client, server, "localhost");
    std::vector<std::byte> sent(8u << 20);
    for (std::size_t i = 0; i < sent.size(); ++i)
        sent[i] = static_cast<std::byte>(i * 2654435761u >> 24);
    std::vector<std::byte> received;
    std::size_t offset = 0;
    bool was_full = false;
    std::vector<std::byte> buffer(40000);
    for (int turns = 0; turns < 1000000 && received.size() < sent.size(); ++turns) {
        std::size_t count = 0;
        IoStatus status = IoStatus::ok;
        while (status == IoStatus::ok && offset < sent.size()) {
            const std::vector<std::byte> moving(
                sent.begin() + static_cast<std::ptrdiff_t>(offset),
                sent.begin() + static_cast<std::ptrdiff_t>(std::min(sent.size(), offset + 100000)));
            status = pair.client.write(moving, count);
            offset += count;
        }
        was_full = was_full || status == IoStatus::want_write;
        status = IoStatus::ok;
        while (status == IoStatus::ok) {
            status = pair.server.read(buffer, count);
            received.insert(received.end(), buffer.begin(),
                            buffer.begin() + static_cast<std::ptrdiff_t>(count));
        }
    }
    CHECK(was_full);
    CHECK(received == sent);
}

TEST_CASE("TLS: a peer that renews its keys without end is not read on") {
    const Certificate certificate;
    const TlsContext context = server_context(certificate);
    const auto [peer, ours] = tcp_pair();
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> strange(
        SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    const std::unique_ptr<SSL, decltype(&SSL_free)> client(SSL_new(strange.get()), SSL_free);
    const io::Descriptor closes(peer);
    REQUIRE(SSL_set_fd(client.get(), peer) == 1);
    TlsStream server = TlsStream::server(context, ours);
    IoStatus status = IoStatus::want_read;
    int shaken = 0;
    for (int turns = 0; turns < 100000 && (shaken != 1 || status != IoStatus::ok); ++turns) {
        if (shaken != 1) shaken = SSL_connect(client.get());
        if (status != IoStatus::ok) status = server.handshake();
    }
    REQUIRE((shaken == 1 && status == IoStatus::ok));

    const auto renew = [&](int times) {
        for (int i = 0; i < times; ++i) {
            REQUIRE(SSL_key_update(client.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1);
            REQUIRE(SSL_do_handshake(client.get()) == 1);
        }
    };
    std::byte buffer[64];
    std::size_t count = 0;
    renew(32);
    REQUIRE(SSL_write(client.get(), "a frame", 7) == 7);
    REQUIRE(read_when_ready(server, buffer, count) == IoStatus::ok);
    CHECK(count == 7);
    renew(1000);
    REQUIRE(SSL_write(client.get(), "a frame", 7) == 7);
    CHECK(read_when_ready(server, buffer, count) == IoStatus::failed);
    CHECK(server.error() == "the peer renews its keys without end");
}

TEST_CASE("TLS: files that cannot serve are named") {
    const Certificate certificate;
    const auto missing = TlsContext::server("/nonexistent.pem", certificate.key, "");
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().path == "/nonexistent.pem");
    const Certificate other;
    CHECK_FALSE(TlsContext::server(certificate.file, other.key, "").ok());
    CHECK_FALSE(certificate_fingerprint(certificate.key).ok());
    CHECK_FALSE(make_certificate("/nonexistent/a.pem", "/nonexistent/a.key", "h").ok());
    struct stat status {};
    REQUIRE(::stat(certificate.key.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0600);
    REQUIRE(::stat(certificate.file.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0644);
}

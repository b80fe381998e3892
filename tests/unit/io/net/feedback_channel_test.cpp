#include <csignal>

#include "common/io/clock.h"
#include "common/io/net/feedback_channel.h"
#include "common/io/reactor.h"
#include "tests/support/catch.h"
#include "tests/unit/io/net/loopback.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;
using namespace std::chrono_literals;

namespace {

struct Channels {
    Folder folder;
    std::unique_ptr<Reactor> reactor = std::move(Reactor::make().value());
    std::unique_ptr<ports::FeedbackChannel> client;
    std::unique_ptr<ports::FeedbackChannel> server;
    int client_fd = -1;

    Channels() {
        ::signal(SIGPIPE, SIG_IGN);
        REQUIRE(make_certificate(folder / "c", folder / "k", "localhost").ok());
        const TlsContext server_context =
            TlsContext::server(folder / "c", folder / "k", "").value();
        ClientTrust trust;
        trust.pinned = certificate_fingerprint(folder / "c").value();
        const TlsContext client_context = TlsContext::client(trust).value();
        const auto [first, second] = tcp_pair();
        client_fd = first;
        TlsStream client_stream = TlsStream::client(client_context, first, "localhost");
        TlsStream server_stream = TlsStream::server(server_context, second);
        IoStatus client_status = IoStatus::want_read;
        IoStatus server_status = IoStatus::want_read;
        for (int i = 0;
             i < 100000 && (client_status != IoStatus::ok || server_status != IoStatus::ok); ++i) {
            if (client_status != IoStatus::ok) client_status = client_stream.handshake();
            if (server_status != IoStatus::ok) server_status = server_stream.handshake();
        }
        REQUIRE((client_status == IoStatus::ok && server_status == IoStatus::ok));
        client = make_feedback_channel(std::move(client_stream), *reactor);
        server = make_feedback_channel(std::move(server_stream), *reactor);
    }

    void take(ports::FeedbackChannel& from, std::vector<std::byte>& into) {
        while (true) {
            const ByteView got = from.receive();
            if (got.empty()) return;
            into.insert(into.end(), got.begin(), got.end());
        }
    }
};

std::vector<std::byte> frame(std::size_t bytes, unsigned salt) {
    std::vector<std::byte> out(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        out[i] = static_cast<std::byte>((i + salt) * 2654435761u >> 22);
    return out;
}

}  // namespace

TEST_CASE("feedback channel: frames pass both ways in order, and a full one refuses whole frames") {
    Channels channels;
    std::vector<std::byte> sent;
    std::vector<std::byte> received;
    bool refused = false;
    for (unsigned i = 0; i < 200; ++i) {
        const auto next = frame(100000, i);
        if (channels.client->send(next)) {
            sent.insert(sent.end(), next.begin(), next.end());
        } else {
            refused = true;
        }
    }
    CHECK(refused);
    CHECK(channels.client->backlog() > 100000);
    const Time limit = Clock().now() + 10s;
    while (received.size() < sent.size() && Clock().now() < limit) {
        channels.take(*channels.server, received);
        CHECK(channels.client->receive().empty());  // sends what waits
        if (received.size() < sent.size()) channels.reactor->wait(Clock().now() + 1ms);
    }
    CHECK(received == sent);
    CHECK(channels.client->backlog() == 0);

    const auto answer = frame(40, 1);
    CHECK(channels.server->send(answer));
    std::vector<std::byte> back;
    while (back.size() < answer.size() && Clock().now() < limit) {
        channels.take(*channels.client, back);
        if (back.empty()) channels.reactor->wait(limit);
    }
    CHECK(back == answer);
    CHECK((channels.client->alive() && channels.server->alive()));
}

TEST_CASE("feedback channel: what was sent before an end arrives, then it is dead") {
    const bool in_order = GENERATE(true, false);
    Channels channels;
    const auto last = frame(70000, 9);
    CHECK(channels.client->send(last));
    if (in_order) {
        channels.client.reset();
    } else {
        ::shutdown(channels.client_fd, SHUT_RDWR);
    }
    std::vector<std::byte> received;
    const Time limit = Clock().now() + 5s;
    while (channels.server->alive() && Clock().now() < limit) {
        channels.take(*channels.server, received);
        if (channels.server->alive()) channels.reactor->wait(limit);
    }
    channels.take(*channels.server, received);
    CHECK_FALSE(channels.server->alive());
    CHECK(received == last);
    channels.server->send(last);
    if (channels.client) {
        channels.client->send(last);
        CHECK_FALSE(channels.client->alive());
    }
}

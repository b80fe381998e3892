// A whole server in this process, on loopback, spoken to over real TCP and TLS.
#include "server/server.h"

#include <filesystem>

#include "common/session/terms.h"
#include "config/endpoint.h"
#include "tests/unit/server/running.h"

namespace lambda::server {

TEST_CASE("before TLS only AUTH, FEAT, NOOP and QUIT are answered") {
    const Running running;
    Client client(running);
    client.send(
        "NOOP\r\nUSER alice\r\nPASS secret\r\nJOIN x\r\nfeat\r\nAUTH KERBEROS\r\nNO\nOP\r\n");
    for (const int expected : {220, 200, 530, 530, 530, 211, 504, 501, 530}) {
        CHECK(client.code() == expected);
    }
    client.send(std::string(10'000, 'x') + "\r\nNOOP\r\nQUIT\r\nNOOP\r\n");
    for (const int expected : {500, 200, 221, 0}) CHECK(client.code() == expected);
}

TEST_CASE("a client that waits is greeted, over both families") {
    const Running running;
    for (const std::size_t which : {0U, 1U}) {
        Client client(running, which);
        CHECK(client.code() == 220);
        CHECK(client.code("AUTH TLS") == 234);
        client.start_tls();
        CHECK(client.code("USER alice") == 331);
        CHECK(client.code("PASS secret") == 230);
    }
}

TEST_CASE("plain bytes behind AUTH TLS are never commands") {
    const Running running;
    Client client(running);
    client.send("AUTH TLS\r\nNOOP\r\nUSER alice\r\n");
    CHECK(client.code() == 220);
    CHECK(client.code() == 234);
    CHECK(client.code() == 0);
}

TEST_CASE("a connection may speak TLS from its first byte") {
    const Running running;
    Client client(running);
    client.start_tls();
    CHECK(client.code() == 220);
    CHECK(client.code("AUTH TLS") == 503);
    CHECK(client.code("PWD") == 530);
    CHECK(client.code("JOIN token=00112233445566778899aabbccddeeff;stripe=0;epoch=1;") == 530);
    CHECK(client.code("JOIN token=x;") == 501);
    CHECK(client.code("JOIN token=00112233445566778899aabbccddeeff;stripe=0;epoch=2;") == 530);
    CHECK(client.code() == 0);
}

TEST_CASE("a wrong password and an unknown user get the same answer after the same time") {
    const Running running;
    std::string answers[2];
    double times[2] = {1e9, 1e9};
    for (int round = 0; round < 3; ++round) {
        Client client(running);
        client.secure();
        const char* const names[] = {"alice", "nobody"};
        for (std::size_t i = 0; i < 2; ++i) {
            REQUIRE(client.code(std::string("USER ") + names[i]) == 331);
            const double took = seconds_of([&] {
                client.send("PASS wrong\r\n");
                const auto reply = client.hear();
                REQUIRE(reply.has_value());
                CHECK(reply->code == 530);
                answers[i] = reply->text();
            });
            times[i] = std::min(times[i], took);
        }
    }
    CHECK(answers[0] == answers[1]);
    // The least of three, within a factor: an answer without the hash is a hundred times faster.
    CAPTURE(times[0], times[1]);
    CHECK(times[0] < 4 * times[1]);
    CHECK(times[1] < 4 * times[0]);
}

TEST_CASE("three wrong passwords end the connection") {
    const Running running;
    Client client(running);
    client.secure();
    CHECK(client.code("PASS secret") == 503);
    for (int i = 0; i < 3; ++i) {
        CHECK(client.code("USER alice") == 331);
        CHECK(client.code("PASS wrong") == 530);
    }
    CHECK(client.code() == 0);
}

TEST_CASE("who proved who he is hears why the root of the account cannot be opened") {
    const Running running;
    const bool known = GENERATE(false, true);  // a login that was checked before
    if (known) Client(running).log_in();
    const std::string root = running.scratch.path();
    std::filesystem::rename(root, root + ".away");
    {
        Client stranger(running);
        stranger.secure();
        CHECK(stranger.code("USER alice") == 331);
        CHECK(stranger.code("PASS wrong") == 530);
        Client client(running);
        client.secure();
        CHECK(client.code("USER alice") == 331);
        client.send("PASS secret\r\n");
        const auto reply = client.hear();
        REQUIRE(reply.has_value());
        CHECK(reply->code == 421);
        CHECK(reply->text().find("cannot open the root: No such file or directory") !=
              std::string::npos);
        CHECK(reply->text().find(root) == std::string::npos);
        CHECK(client.code() == 0);
    }
    std::filesystem::rename(root + ".away", root);
    Client(running).log_in();
}

TEST_CASE("pipelined commands are answered in order, more than are held in hand too") {
    const Running running;
    running.scratch.write("file", "12345");
    Client client(running);
    client.secure();
    std::string wire = "USER alice\r\nPASS secret\r\n";
    for (int i = 0; i < 200; ++i) wire += "SIZE file\r\nSIZE none\r\n";
    client.send(wire + "MLSD\r\nQUIT\r\n");
    CHECK(client.code() == 331);
    CHECK(client.code() == 230);
    for (int i = 0; i < 200; ++i) {
        CHECK(client.code() == 213);
        CHECK(client.code() == 550);
    }
    const auto listing = client.hear();
    REQUIRE(listing.has_value());
    CHECK(listing->code == 250);
    CHECK(listing->lines.size() == 4);  // start, file, state, end
    CHECK(client.code() == 221);
    CHECK(client.code() == 0);
}

TEST_CASE("an over-long line is refused and the session goes on") {
    const Running running;
    Client client(running);
    client.log_in();
    CHECK(client.code("SIZE " + std::string(1'000'000, 'x')) == 500);
    CHECK(client.code("MKD a\rb") == 501);
    CHECK(client.code(std::string("MKD a\0b", 7)) == 501);
    CHECK(client.code("MKD a\nb") == 501);
    CHECK(client.code() == 502);
    CHECK(client.code("NOOP") == 200);
    CHECK(client.code("USER alice") == 503);
    CHECK(client.code("RETR file") == 502);
    CHECK(client.code("ABOR") == 225);
    CHECK(client.code("RATE 1000000") == 503);
    for (const char* bad : {"RATE", "RATE -1", "RATE fast", "RATE 10000000000001"})
        CHECK(client.code(bad) == 501);
}

TEST_CASE("a checksum answers while others wait, and can be stopped") {
    const Running running;
    const std::string file = running.scratch / "huge";
    running.scratch.write("huge", "");
    REQUIRE(::truncate(file.c_str(), 1ll << 40) == 0);
    Client client(running);
    client.log_in();
    client.send("CKSM md5 0 -1 huge\r\nSIZE huge\r\nNOOP\r\n");
    CHECK(client.code() == 200);
    client.send("STAT\r\n");
    const auto status = client.hear();
    REQUIRE(status.has_value());
    CHECK(status->lines.at(3).find("Checksum") == 0);
    CHECK(client.code("ABOR") == 426);
    CHECK(client.code() == 226);
    CHECK(client.code() == 213);
    CHECK(client.code("CKSM xxh3-128 0 0 huge") == 213);
    CHECK(client.code("CKSM MD5 0 0 huge") == 213);
    CHECK(client.code("CKSM sha1 0 0 huge") == 504);
}

TEST_CASE("bad and impossible transfers are refused") {
    const Running running;
    Client client(running);
    client.log_in();
    session::Offer offer;
    offer.path = "x";
    const std::string good = "XFER " + session::format_offer(offer);
    CHECK(client.code("XFER x") == 501);
    CHECK(client.code("XFER direction=put; x") == 501);
    offer.terms.congestion = "warp";
    CHECK(client.code("XFER " + session::format_offer(offer)) == 504);
    offer.terms.congestion = "mimd:speed=9";
    CHECK(client.code("XFER " + session::format_offer(offer)) == 501);
    CHECK(client.code("NOOP") == 200);
}

TEST_CASE("a transfer begins, can be looked at and aborted, and another can follow") {
    const Running running;
    Client client(running);
    client.log_in();
    session::Offer offer;
    offer.path = "dir/";
    offer.terms.stripes = 2;
    std::uint64_t last = 0;
    for (int i = 0; i < 2; ++i) {
        client.send("XFER " + session::format_offer(offer) + "\r\nPWD\r\n");
        const auto begun = client.hear();
        REQUIRE(begun.has_value());
        REQUIRE(begun->code == 150);
        const auto agreement = session::parse_agreement(begun->text());
        REQUIRE(agreement.ok());
        CHECK(agreement->into_directory);
        CHECK(agreement->transfer > last);
        last = agreement->transfer;
        client.send("STAT\r\n");
        CHECK(client.hear()->lines.at(3).find("Transfer") == 0);
        CHECK(client.code("ABOR") == 426);
        CHECK(client.code() == 226);
        CHECK(client.code() == 257);
    }
}

TEST_CASE("the transfer of a client that says QUIT has time for its last words") {
    config::ServerSettings settings;
    settings.transfers_max = 1;
    const Running running(settings);
    session::Offer offer;
    offer.path = "dir/";
    const std::string begin = "XFER " + session::format_offer(offer) + "\r\n";
    {
        Client one(running);
        one.log_in();
        one.send(begin + "QUIT\r\n");
        CHECK(one.code() == 150);
        CHECK(one.code() == 221);
    }
    Client two(running);
    two.log_in();
    two.send(begin);
    CHECK(two.code() == 450);
    // Not for long.
    int code = 450;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (code == 450 && std::chrono::steady_clock::now() < deadline) {
        two.send(begin);
        code = two.code();
    }
    CHECK(code == 150);
}

TEST_CASE("sessions are bounded, and a slot is free again after its end") {
    config::ServerSettings settings;
    settings.sessions_per_address = 2;
    const Running running(settings);
    Client one(running);
    one.log_in();
    {
        Client two(running);
        two.secure();
        Client three(running);
        CHECK(three.code() == 421);
        CHECK(three.code() == 0);
        CHECK(two.code("QUIT") == 221);
        CHECK(two.code() == 0);
    }
    Client four(running);
    four.secure();
    CHECK(one.code("NOOP") == 200);
}

TEST_CASE("who says nothing or garbage is gone after the login time") {
    config::ServerSettings settings;
    settings.login_timeout = std::chrono::milliseconds(300);
    settings.idle_timeout = std::chrono::milliseconds(300);
    const Running running(settings);
    Client silent(running);
    Client garbage(running);
    garbage.send(std::string("\x16\x03\x01\xff\xff") + std::string(5000, 'g'));
    Client half(running);
    half.send("AUTH TLS\r\n");
    CHECK(silent.code() == 220);
    CHECK(silent.code() == 0);
    CHECK(garbage.code() == 0);
    CHECK(half.code() == 220);
    CHECK(half.code() == 234);
    CHECK(half.code() == 0);
}

TEST_CASE("who is idle is told and gone") {
    config::ServerSettings settings;
    settings.idle_timeout = std::chrono::milliseconds(300);
    const Running running(settings);
    Client client(running);
    client.log_in();
    CHECK(client.code() == 421);
    CHECK(client.code() == 0);
}

TEST_CASE("a stop tells the sessions") {
    Running running;
    Client client(running);
    client.log_in();
    running.server->stop();
    CHECK(client.code() == 421);
    CHECK(client.code() == 0);
}

TEST_CASE(
    "new accounts end the sessions of those that are gone or changed, and what runs in them") {
    config::ServerSettings settings;
    settings.transfers_max = 1;
    Running running(settings);
    session::Offer offer;
    offer.path = "dir/";
    const std::string begin = "XFER " + session::format_offer(offer);
    Client client(running);
    CHECK(client.log_in().code(begin) == 150);
    Accounts accounts = running.accounts;
    accounts["bob"] = accounts.at("alice");
    running.server->replace_accounts(accounts);
    CHECK(client.code("STAT") == 211);
    accounts["bob"].root = running.scratch.path();
    accounts["alice"].read_only = true;
    running.server->replace_accounts(accounts);
    int code = client.code();
    if (code == 426) code = client.code();
    CHECK(code == 421);
    CHECK(client.code() == 0);
    Client bob(running);
    bob.secure();
    CHECK(bob.code("USER bob") == 331);
    CHECK(bob.code("PASS secret") == 230);
    do code = bob.code(begin);
    while (code == 450);  // until alice's transfer has ended
    CHECK(code == 150);
    running.server->replace_accounts({});
    code = bob.code();
    if (code == 426) code = bob.code();
    CHECK(code == 421);
    CHECK(bob.code() == 0);
    Client other(running);
    other.secure();
    CHECK(other.code("USER alice") == 331);
    CHECK(other.code("PASS secret") == 530);
}

TEST_CASE("an address in use is an error that names it") {
    const Running running;
    TemporaryDirectory scratch;
    config::ServerSettings settings;
    settings.state = scratch / "state";
    settings.listen = {running.server->addresses().at(0)};
    const auto second = Server::make(settings, {});
    REQUIRE_FALSE(second.ok());
    CHECK(second.error().fault == Fault::usage);
    CHECK(second.error().message.find("127.0.0.1") != std::string::npos);
}

}  // namespace lambda::server

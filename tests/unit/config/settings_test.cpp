#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "config/client_settings.h"
#include "config/documentation.h"
#include "config/schema.h"
#include "config/server_settings.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::config;

namespace {

std::string server_error(const std::string& text) {
    const auto settings = parse_server_settings(text, "s.yaml");
    return settings ? "accepted" : settings.error().message;
}

std::string client_error(const std::string& text) {
    const auto settings = parse_client_settings(text, "c.yaml");
    return settings ? "accepted" : settings.error().message;
}

std::string source_file(const std::string& name) {
    std::ifstream file(std::string(LAMBDA_SOURCE_DIR) + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Whether the document has each key of the table.
bool has_all(const Schema& schema, const std::string& document) {
    return std::all_of(schema.keys().begin(), schema.keys().end(), [&](const Key& key) {
        return ("\n" + document).find("\n" + key.name + ":") != std::string::npos;
    });
}

}  // namespace

TEST_CASE("an empty file is all defaults") {
    for (const char* text : {"", "\n\n", "# nothing\n", "---\n"}) {
        CAPTURE(text);
        CHECK(*parse_server_settings(text, "s") == ServerSettings{});
        CHECK(*parse_client_settings(text, "c") == ClientSettings{});
    }
}

TEST_CASE("the shipped files hold the defaults, and with the page of settings match the table") {
    const std::string root = LAMBDA_SOURCE_DIR;
    const auto server = load_server_settings(root + "/config/server.yaml");
    REQUIRE(server.ok());
    ServerSettings shipped;
    shipped.root = "/srv/lambda-ftp";
    CHECK(*server == shipped);
    const auto client = load_client_settings(root + "/config/client.yaml");
    REQUIRE(client.ok());
    CHECK(*client == ClientSettings{});

    INFO("settings_text markdown|server|client prints what they must be");
    CHECK(source_file("config/server.yaml") == server_yaml());
    CHECK(source_file("config/client.yaml") == client_yaml());
    CHECK(source_file("docs/settings.md") == settings_markdown());
}

TEST_CASE("every server key is read") {
    const std::string text =
        "listen:\n  - 127.0.0.1:0\n  - \"[::1]:2812\"\nstate: /s\naccounts: /a\nroot: /r\n"
        "certificate: /c\nkey: /k\nclient_ca: /ca\ndata_ports: 50000-50010\nstripes_max: 8\n"
        "memory: 2GiB\ntransfer_memory: 64MiB\nsocket_buffer: 1MiB\nhighest_rate: 2.5Gbit/s\n"
        "sessions_max: 20\nsessions_per_address: 10\ntransfers_max: 2\nlogin_tries: 5\n"
        "login_timeout: 30s\nidle_timeout: 1h\nallow_null: true\nallow_safe: false\n"
        "allow_clear: false\nio_uring: false\nlog_level: debug\nallow_copy: false\n"
        "copy_hosts:\n  - public\n";
    ServerSettings defaults;
    CHECK(has_all(server_schema(defaults), text));
    const auto settings = parse_server_settings(text, "s");
    REQUIRE(settings.ok());
    CHECK(settings->listen.size() == 2);
    CHECK(settings->listen[1].port == 2812);
    CHECK(settings->state == "/s");
    CHECK(settings->accounts == "/a");
    CHECK(settings->root == "/r");
    CHECK(settings->certificate == "/c");
    CHECK(settings->key == "/k");
    CHECK(settings->client_ca == "/ca");
    CHECK(settings->data_ports == PortRange{.first = 50000, .last = 50010});
    CHECK(settings->stripes_max == 8);
    CHECK(settings->memory == 2 * GiB);
    CHECK(settings->transfer_memory == 64 * MiB);
    CHECK(settings->socket_buffer == MiB);
    CHECK(settings->highest_rate.bits_per_second == 2.5e9);
    CHECK(settings->sessions_max == 20);
    CHECK(settings->sessions_per_address == 10);
    CHECK(settings->transfers_max == 2);
    CHECK(settings->login_tries == 5);
    CHECK(settings->login_timeout == std::chrono::seconds(30));
    CHECK(settings->idle_timeout == std::chrono::hours(1));
    CHECK(settings->allow_null);
    CHECK_FALSE(settings->allow_safe);
    CHECK_FALSE(settings->allow_clear);
    CHECK_FALSE(settings->allow_copy);
    CHECK(settings->copy_hosts == std::vector<std::string>{"public"});
    CHECK_FALSE(settings->io_uring);
    CHECK(settings->log_level == "debug");
}

TEST_CASE("every client key is read") {
    const std::string text =
        "stripes: 16\ncongestion: sabul2003\nprotection: safe\ncipher: chacha20-poly1305\n"
        "memory: 512MiB\nblock_size: 4MiB\nsyn: 5ms\npayload: 1400\nwindow: 1MiB\n"
        "initial_rate: 10Mbit/s\nrate_limit: 800Mbit/s\nsocket_buffer: 208KiB\n"
        "trust_new_host: true\nca: /ca.pem\nio_uring: false\nlog_level: error\nretry_for: 1h\n"
        "verify: readback\n";
    ClientSettings defaults;
    CHECK(has_all(client_schema(defaults), text));
    const auto settings = parse_client_settings(text, "c");
    REQUIRE(settings.ok());
    CHECK(*settings == ClientSettings{.stripes = 16,
                                      .congestion = "sabul2003",
                                      .protection = session::Protection::safe,
                                      .cipher = session::Cipher::chacha20_poly1305,
                                      .memory = 512 * MiB,
                                      .block_size = 4 * MiB,
                                      .syn = std::chrono::milliseconds(5),
                                      .payload = 1400,
                                      .window = MiB,
                                      .initial_rate = BitRate{10e6},
                                      .rate_limit = BitRate{800e6},
                                      .rate_hours = {},
                                      .retry_for = std::chrono::hours(1),
                                      .socket_buffer = 208 * KiB,
                                      .read_back = true,
                                      .trust_new_host = true,
                                      .ca = "/ca.pem",
                                      .io_uring = false,
                                      .log_level = "error"});
}

TEST_CASE("one value in place of a list, one port in place of a range, none in place of a limit") {
    CHECK(parse_server_settings("listen: 127.0.0.1:9\n", "s")->listen.size() == 1);
    CHECK(parse_server_settings("data_ports: 7\n", "s")->data_ports ==
          PortRange{.first = 7, .last = 7});
    CHECK(parse_server_settings("data_ports: 7-7\n", "s")->data_ports ==
          PortRange{.first = 7, .last = 7});
    CHECK(parse_client_settings("window: none\nrate_limit: none\ncipher: auto\n", "c").ok());
}

TEST_CASE("an error names file, line, key, and what is allowed") {
    CHECK(server_error("\n\nstripes_max: 65\n") ==
          "s.yaml:3: stripes_max: '65' is out of range; allowed: 1 to 64");
    CHECK(server_error("memory: 5apples\n") ==
          "s.yaml:1: memory: '5apples' is not a size; write a number and one of B, kB, MB, GB, TB, "
          "KiB, MiB, GiB, TiB, PiB; allowed: 16MiB to 1TiB");
    CHECK(server_error("log_level: loud\n") ==
          "s.yaml:1: log_level: 'loud' is none of them; allowed: debug, info, warning, error");
    CHECK(client_error("stripe: 4\n") == "c.yaml:1: stripe: unknown key, did you mean stripes?");
    CHECK(
        client_error("zzzzzzzz: 4\n").find("c.yaml:1: zzzzzzzz: unknown key; allowed: stripes, ") ==
        0);
    CHECK(client_error("stripes: 4\nsyn: 5ms\nstripes: 5\n") ==
          "c.yaml:3: stripes: stands twice, first in line 1; allowed: once");
}

TEST_CASE("wrong types, units and ranges are refused") {
    struct Case {
        const char* text;
        const char* expected;  // a part of the message
    };
    const auto server = GENERATE(
        Case{"stripes_max: four\n", "'four' is no whole number"},
        Case{"stripes_max: 4.5\n", "'4.5' is no whole number"},
        Case{"stripes_max: -1\n", "no whole"},
        Case{"stripes_max: 99999999999999999999\n", "out of range"},
        Case{"stripes_max: 0\n", "out of"}, Case{"stripes_max: [4]\n", "a list, where one value"},
        Case{"stripes_max:\n", "has no value"},
        Case{"stripes_max: {a: 4}\n", "stripes_max: a map cannot stand here"},
        Case{"login_timeout: 60\n", "is not a duration"},
        Case{"login_timeout: 0s\n", "out of range"},
        Case{"login_timeout: 60MB\n", "is not a duration"},
        Case{"highest_rate: 5MiB\n", "not a rate"}, Case{"highest_rate: 1bit/s\n", "out of range"},
        Case{"socket_buffer: 1\n", "out of range"},
        Case{"allow_null: yes\n", "allowed: true, false"}, Case{"state: var\n", "no absolute path"},
        Case{"state: \"\"\n", "no absolute path"}, Case{"data_ports: 9-8\n", "the first is above"},
        Case{"data_ports: 0\n", "no range of ports"}, Case{"data_ports: 1-65536\n", "no range of"},
        Case{"data_ports: 1-2-3\n", "no range of ports"}, Case{"data_ports: [1]\n", "one value"},
        Case{"data_ports: 1-\n", "no range of ports"},
        Case{"listen: localhost:1\n", "no ADDRESS:PORT"},
        Case{"listen: 127.0.0.1\n", "no ADDRESS:PORT"},
        Case{"listen: \"::1:5\"\n", "no ADDRESS:PORT"},
        Case{"listen: 127.0.0.1:65536\n", "no ADDRESS:PORT"}, Case{"listen: []\n", "has no value"},
        Case{"listen: [127.0.0.1:5, 127.0.0.1:5]\n", "stands twice"},
        Case{"memory: 64MiB\ntransfer_memory: 65MiB\n",
             "transfer_memory: transfer_memory (65MiB) is more than memory (64MiB)"},
        Case{"sessions_per_address: 4\nsessions_max: 3\n",
             "sessions_per_address (4) is more than sessions_max (3)"},
        Case{"key: /k\n", "s.yaml:1: key: certificate and key belong together"});
    CAPTURE(server.text);
    CHECK_THAT(server_error(server.text), Catch::Contains(server.expected));
}

TEST_CASE("what is not set gives way to what is") {
    const auto settings = parse_server_settings("memory: 64MiB\nsessions_max: 3\n", "s.yaml");
    REQUIRE(settings);
    CHECK(settings->transfer_memory == 64 * MiB);
    CHECK(settings->sessions_per_address == 3);
}

TEST_CASE("client values of a wrong shape are refused") {
    CHECK_THAT(client_error("block_size: 1500KiB\n"), Catch::Contains("no multiple of 1MiB"));
    CHECK_THAT(client_error("payload: 511\n"), Catch::Contains("out of range"));
    CHECK_THAT(client_error("congestion: \"no law\"\n"), Catch::Contains("is no such name"));
    CHECK_THAT(client_error("congestion: Mimd\n"), Catch::Contains("is no such name"));
    CHECK(client_error("congestion: mimd:preset=pr1,T=400ms\n") == "accepted");
    CHECK_THAT(client_error("initial_rate: none\n"), Catch::Contains("is not a rate"));
    CHECK_THAT(client_error("initial_rate: 2Gbit/s\nrate_limit: 1Gbit/s\n"),
               Catch::Contains("c.yaml:2: rate_limit: initial_rate (2Gbit/s) is more than"));
    CHECK(client_error("rate_limit: 1Mbit/s\n") == "accepted");
    CHECK(client_error("rate_limit: 08:00-18:00 200Mbit/s, 18:00-08:00 max\n") == "accepted");
    CHECK_THAT(client_error("rate_limit: 08:00-18:00 200Mbit/s, 18:00-25:00 max\n"),
               Catch::Contains("c.yaml:1: rate_limit: entry 2 of the timetable"));
    CHECK_THAT(client_error("rate_limit: 08:00-18:00 2bit/s\n"), Catch::Contains("out of range"));
}

TEST_CASE("what is not a flat map of YAML is refused, with its line") {
    CHECK_THAT(client_error("stripes: 4\n: [\n"), Catch::Contains("c.yaml:"));
    CHECK_THAT(client_error("just words\n"), Catch::Contains("c.yaml:1: expected lines of"));
    CHECK_THAT(client_error("- 4\n"), Catch::Contains("c.yaml:1: expected lines of"));
    CHECK_THAT(client_error("stripes: &a 4\n"), Catch::Contains("stripes: anchors"));
    for (const char* tagged : {"!foo\nstripes: 4\n", "!!map\nstripes: 4\n", "stripes: !foo [4]\n",
                               "stripes: !!seq [4]\n", "stripes: !foo 4\n"})
        CHECK_THAT(client_error(tagged), Catch::Contains("tags are not allowed"));
    CHECK_THAT(client_error("stripes: *a\n"), Catch::Contains("c.yaml:1:"));
    CHECK_THAT(client_error("stripes: !!int 4\n"), Catch::Contains("stripes: tags"));
    CHECK_THAT(client_error("stripes: 4\n---\nsyn: 5ms\n"), Catch::Contains("second document"));
    CHECK_THAT(client_error("? [a]\n: 4\n"), Catch::Contains("a list cannot stand here"));
    CHECK_THAT(client_error("~: 4\n"), Catch::Contains("a key is missing"));
    CHECK_THAT(client_error(std::string("stripes: 4\nsyn: \0", 17)),
               Catch::Contains("c.yaml:2: a NUL"));
    CHECK_THAT(client_error("#" + std::string(70000, 'x')), Catch::Contains("too large"));
    CHECK_THAT(client_error(std::string(60000, '[')), Catch::Contains("c.yaml:"));
    CHECK_THAT(client_error("a: " + std::string(60000, '{')), Catch::Contains("c.yaml:"));
}

TEST_CASE("a file that cannot be read is an error with its name") {
    const auto missing = load_server_settings("/nonexistent/server.yaml");
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().fault == Fault::usage);
    CHECK_THAT(missing.error().sentence(), Catch::Contains("/nonexistent/server.yaml"));
    CHECK_FALSE(load_client_settings("/").ok());
}

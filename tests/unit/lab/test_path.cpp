#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tools/lab/path_file.h"
#include "tools/lab/path_flags.h"

using namespace lambda;
using namespace lambda::lab;
using std::chrono::milliseconds;

namespace {

const std::string kHosts =
    "hosts:\n  - {name: a, side: left, delay: 1ms}\n  - {name: b, side: right, delay: 49ms}\n";

std::string error_of(const std::string& text) {
    const auto path = parse_path(text, "p.yaml");
    return path ? "accepted" : path.error().message;
}

// With one line for the bottleneck's other keys.
std::string bottleneck_error(const std::string& keys) {
    return error_of("bottleneck:\n  rate: 1Gbit/s\n  " + keys + "\n" + kHosts);
}

std::string change_error(const std::string& change) {
    return error_of("bottleneck: {rate: 1Gbit/s}\n" + kHosts + "timetable:\n  - " + change + "\n");
}

std::string host_error(const std::string& host) {
    return error_of("bottleneck: {rate: 1Gbit/s}\n" + kHosts + "  - " + host + "\n");
}

}  // namespace

TEST_CASE("every key of a path is read") {
    const auto path = parse_path(R"(
bottleneck:
  rate: 800Mbit/s
  queue: 0.5BDP
  delay: 5ms
  jitter: 1ms
  loss: {rate: 1e-3, burst: 5}
  duplicate: 0.1%
  reorder: {rate: 2e-3, by: 4ms}
  mtu: 1400
  backward: {rate: 20Mbit/s, loss: 1e-2, queue: 100kB, mtu: 1300}
hosts:
  - {name: client, side: left}
  - {name: server, side: right, delay: 40ms, congestion: bbr, mtu: 1450,
     sysctl: {net.ipv4.tcp_slow_start_after_idle: 0}}
timetable:
  - {at: 9s, dead: 20s, direction: forward}
  - {at: 3s, rate: 1Mbit/s, delay: 7ms, jitter: 0ms, loss: 0.5, duplicate: 0, reorder: 0.25}
)",
                                 "p.yaml");
    REQUIRE(path);
    const Impairments& forward = path->forward.impairments;
    CHECK(forward.rate.bits_per_second == 800e6);
    CHECK(forward.delay == milliseconds(5));
    CHECK(forward.jitter == milliseconds(1));
    CHECK(forward.loss == Loss{1e-3, 5});
    CHECK(forward.duplicate == Approx(1e-3));
    CHECK(forward.reorder == Reorder{2e-3, milliseconds(4)});
    CHECK(path->forward.mtu == 1400);
    // Half of 800 Mbit/s times 90 ms.
    CHECK(path->forward.queue == 4'500'000);

    const Impairments& backward = path->backward.impairments;
    CHECK(backward.rate.bits_per_second == 20e6);
    CHECK(backward.loss == Loss{1e-2, 1});
    CHECK(backward.jitter == milliseconds(1));  // as forward
    CHECK(path->backward.queue == 100'000);
    CHECK(path->backward.mtu == 1300);

    REQUIRE(path->hosts.size() == 2);
    const HostSpec& server = path->hosts[1];
    CHECK(server.name == "server");
    CHECK(server.end == End::right);
    CHECK(server.delay == milliseconds(40));
    CHECK(server.congestion == "bbr");
    CHECK(server.mtu == 1450);
    REQUIRE(server.sysctls.size() == 1);
    CHECK(server.sysctls[0] ==
          std::pair<std::string, std::string>{"ipv4.tcp_slow_start_after_idle", "0"});

    REQUIRE(path->timetable.size() == 2);
    const Change &first = path->timetable[0], &second = path->timetable[1];
    CHECK(first.at == std::chrono::seconds(3));
    CHECK(first.backward);
    CHECK(first.rate->bits_per_second == 1e6);
    CHECK(first.delay == milliseconds(7));
    CHECK(first.jitter == Duration{0});
    CHECK(first.loss == Loss{0.5, 1});
    CHECK(first.duplicate == 0.0);
    CHECK(first.reorder->rate == 0.25);
    CHECK(second.dead == std::chrono::seconds(20));
    CHECK(second.forward);
    CHECK_FALSE(second.backward);
    CHECK_FALSE(second.rate);
}

TEST_CASE("the queue where none is given, and the memory a path takes") {
    const auto path = parse_path("bottleneck: {rate: 1Gbit/s}\n" + kHosts, "p.yaml");
    REQUIRE(path);
    CHECK(mean_round_trip(*path) == milliseconds(100));
    CHECK(path->forward.queue == 12'500'000);
    // Each way 50 ms of the rate and the queue.
    CHECK(most_bytes_in_flight(*path) == Approx(2 * (6.25e6 + 12.5e6)));
    const auto near = with_flags(plain_path(), {});
    REQUIRE(near);
    CHECK(near->forward.queue == 150'000);
}

TEST_CASE("the shipped paths are good") {
    for (const char* name : {"lan", "wan-100ms", "lossy", "changing"}) {
        CAPTURE(name);
        CHECK(load_path(std::string(LAMBDA_SOURCE_DIR) + "/tools/lab/paths/" + name + ".yaml"));
    }
}

TEST_CASE("an error names the line and the key") {
    CHECK(bottleneck_error("lose: 1e-3").rfind("p.yaml:3: lose: unknown key; allowed: ", 0) == 0);
    CHECK(bottleneck_error("delay: 5") ==
          "p.yaml:3: delay: '5' is not a duration; write a number and one of ns, us, ms, s, min, "
          "h");
    CHECK(change_error("{at: 5s, dead: 0s}") == "p.yaml:6: dead: no time at all");
}

TEST_CASE("bad values of the bottleneck are refused") {
    for (const char* keys : {"rate: 2Gbit/s",
                             "delay: -5ms",
                             "delay: 11s",
                             "delay: [5ms]",
                             "delay:",
                             "jitter: fast",
                             "loss: 1.5",
                             "loss: -0.1",
                             "loss: 101%",
                             "loss: some",
                             "loss: nan",
                             "loss: {burst: 5}",
                             "loss: {rate: 0.9, burst: 5}",
                             "loss: {rate: 0.1, burst: 0.5}",
                             "loss: [0.1]",
                             "loss: {rate: 0.1, burst: 2, length: 3}",
                             "duplicate: 2",
                             "reorder: {by: 1ms}",
                             "queue: 0",
                             "queue: 1000",
                             "queue: BDP",
                             "queue: 0BDP",
                             "queue: 1e9BDP",
                             "queue: 8GiB",
                             "queue: 1XB",
                             "mtu: 100",
                             "mtu: 1400.5",
                             "mtu: 70000",
                             "backward: 5",
                             "backward: {backward: {}}",
                             "backward: {hosts: []}",
                             "delay: &a 5ms\n  jitter: *b"}) {
        CAPTURE(keys);
        const std::string error = bottleneck_error(keys);
        CHECK(error.rfind("p.yaml:", 0) == 0);
    }
}

TEST_CASE("bad hosts and changes are refused") {
    for (const char* host :
         {"{name: a, side: left}", "{name: c}", "{side: left}", "{name: c, side: middle}",
          "{name: C, side: left}", "{name: 9c, side: left}", "{name: c-d, side: left}",
          "{name: c, side: left, delay: 1}", "{name: c, side: left, congestion: ../x}",
          "{name: c, side: left, mtu: 100}", "{name: c, side: left, speed: 1}",
          "{name: c, side: left, sysctl: {kernel.panic: 1}}",
          "{name: c, side: left, sysctl: {net.ipv4/../../kernel.panic: 1}}",
          "{name: c, side: left, sysctl: {net...kernel.panic: 1}}", "c", "[c]"}) {
        CAPTURE(host);
        CHECK(host_error(host).rfind("p.yaml:", 0) == 0);
    }
    for (const char* change :
         {"{at: 5s}", "{rate: 1Mbit/s}", "{at: 5, rate: 1Mbit/s}", "{at: 25h, rate: 1Mbit/s}",
          "{at: 5s, direction: up, rate: 1Mbit/s}", "{at: 5s, queue: 5MB}", "{at: 5s, rate: 0}",
          "{at: 5s, direction: forward}", "5s"}) {
        CAPTURE(change);
        CHECK(change_error(change).rfind("p.yaml:", 0) == 0);
    }
    std::string many = "bottleneck: {rate: 1Gbit/s}\nhosts:\n  - {name: r, side: right}\n";
    for (int i = 0; i < 16; ++i) {
        many += "  - {name: h" + std::to_string(i) + ", side: left}\n";
    }
    CHECK(error_of(many) == "p.yaml:2: hosts: more than 16 hosts");
}

TEST_CASE("what is no path is refused") {
    for (const std::string& text : std::vector<std::string>{
             std::string(), std::string("5"), std::string("[1, 2]"), std::string("a: ["),
             std::string("bottleneck: {rate: 1Gbit/s}"), kHosts,
             "bottleneck: {queue: 1BDP}\n" + kHosts, "bottleneck: 7\n" + kHosts,
             "bottleneck: {rate: 1Gbit/s}\nbottleneck: {rate: 2Gbit/s}\n" + kHosts,
             "bottleneck: {rate: 1Gbit/s}\nhosts:\n  - {name: a, side: left}\n",
             "bottleneck: {rate: 1Gbit/s}\nhosts: {}\n",
             "bottleneck: {rate: 1Gbit/s}\ntimetable: {}\n" + kHosts,
             "bottleneck: {rate: 1Gbit/s}\nfurther: 1\n" + kHosts,
             "bottleneck: {rate: 1Gbit/s}\n" + kHosts + "---\nbottleneck: {rate: 1Mbit/s}\n",
             "[1]: 2\nbottleneck: {rate: 1Gbit/s}\n" + kHosts, std::string(70'000, ' '),
             std::string(1000, '['), std::string("a\0b: 1", 6)}) {
        CAPTURE(text.substr(0, 200));
        CHECK(error_of(text).rfind("p.yaml:", 0) == 0);
    }
    CHECK_FALSE(load_path("/nonexistent/path.yaml"));
}

TEST_CASE("flags make a path, and win over a file's") {
    PathFlags flags;
    flags.rate = "100Mbit/s";
    flags.rtt = "80ms";
    flags.loss = "1%";
    flags.loss_burst = "4";
    flags.queue = "2BDP";
    flags.congestion = "cubic";
    auto path = with_flags(plain_path(), flags);
    REQUIRE(path);
    CHECK(mean_round_trip(*path) == milliseconds(80));
    CHECK(path->forward.queue == 2'000'000);
    CHECK(path->backward.impairments.loss == Loss{0.01, 4});
    CHECK(path->hosts[0].congestion == "cubic");
    CHECK(path->hosts[1].congestion == "cubic");

    const auto file = parse_path("bottleneck: {rate: 1Gbit/s, jitter: 1ms}\n" + kHosts, "p.yaml");
    REQUIRE(file);
    path = with_flags(*file, {.rate = "10Mbit/s"});
    REQUIRE(path);
    // One product of the new rate and the file's delays.
    CHECK(path->forward.queue == 150'000);
    CHECK(path->forward.impairments.jitter == milliseconds(1));
    CHECK(mean_round_trip(*path) == milliseconds(100));
}

TEST_CASE("flags of a loss and of reordering are of the direction that has it") {
    const auto file = parse_path(
        "bottleneck: {rate: 1Gbit/s, loss: {rate: 1e-3, burst: 5}, reorder: 1%, "
        "backward: {loss: 0, reorder: 0}}\n" +
            kHosts,
        "p.yaml");
    REQUIRE(file);
    const auto path = with_flags(*file, {.loss_burst = "8", .reorder_by = "5ms"});
    REQUIRE(path);
    CHECK(path->forward.impairments.loss == Loss{1e-3, 8});
    CHECK(path->forward.impairments.reorder.by == milliseconds(5));
    CHECK(path->backward.impairments.loss == file->backward.impairments.loss);
    CHECK(path->backward.impairments.reorder == file->backward.impairments.reorder);
}

TEST_CASE("bad flags are refused by name") {
    const auto error = [](const PathFlags& flags) {
        const auto path = with_flags(plain_path(), flags);
        return path ? std::string("accepted") : path.error().message;
    };
    CHECK(error({.rate = "fast"}).rfind("--rate: ", 0) == 0);
    CHECK(error({.rtt = "5"}).rfind("--rtt: ", 0) == 0);
    CHECK(error({.queue = "1BDP"}).rfind("--queue: ", 0) == 0);  // of a path without delay
    CHECK(error({.loss = "2"}).rfind("--loss: ", 0) == 0);
    CHECK(error({.loss = "0.9", .loss_burst = "3"}).rfind("--loss: ", 0) == 0);
    CHECK(error({.congestion = "no such"}).rfind("--congestion: ", 0) == 0);
    CHECK(error({.loss_burst = "5"}).rfind("--loss-burst: ", 0) == 0);  // of nothing
    CHECK(error({.reorder_by = "3ms"}).rfind("--reorder-by: ", 0) == 0);
    CHECK(error({.loss = "1%", .loss_burst = "5", .reorder = "1%", .reorder_by = "3ms"}) ==
          "accepted");
}

// A bad path between two network namespaces, for system tests: one TUN device in each, and this
// program between them. See kUsage.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <stdexcept>
#include <string>

#include "tests/support/path/path.h"

namespace {

using lambda::path::Impairments;
using lambda::path::Path;
using lambda::path::Tun;

constexpr const char* kUsage =
    "usage: path_filter --left NETNS --right NETNS [--device NAME] [--device-mtu BYTES]\n"
    "                   [--seed N] [--NAME VALUE]...\n"
    "Makes a TUN device in each namespace, prints \"ready\", and carries packets between them "
    "until\n"
    "its standard input ends or it is told to stop (SIGINT, SIGTERM). NAME is one of\n"
    "  loss, duplicate, reorder, flip, truncate    percent of UDP packets\n"
    "  reorder-ms (5), delay-ms (0)                milliseconds\n"
    "  mtu (0)                                     larger packets vanish; 0: none\n"
    "  all (0)                                     1: loss, duplicate, reorder strike all packets\n"
    "Each line on standard input is a command, answered by one line:\n"
    "  set NAME VALUE      as the option\n"
    "  dead on|off         everything vanishes\n"
    "  stall-tcp PORT N    drop the packets of the N youngest TCP connections to PORT, never of\n"
    "                      the oldest: ok FOUND\n"
    "  cut-tcp PORT N      reset them, both ends\n"
    "  connections         the TCP connections seen, a JSON array\n"
    "  stats               counters of each direction, a JSON object\n";

struct Options {
    std::string left, right;
    std::string device = "path0";
    int device_mtu = 1500;
    std::uint64_t seed = 1;
    Impairments impairments;
};

Options parse_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i], value = argv[i + 1];
        if (name == "--left") {
            options.left = value;
        } else if (name == "--right") {
            options.right = value;
        } else if (name == "--device") {
            options.device = value;
        } else if (name == "--device-mtu") {
            options.device_mtu = std::stoi(value);
        } else if (name == "--seed") {
            options.seed = std::stoull(value);
        } else if (name.rfind("--", 0) != 0 || !options.impairments.set(name.substr(2), value)) {
            throw std::runtime_error("bad option " + name + " " + value);
        }
    }
    if (argc % 2 == 0 || options.left.empty() || options.right.empty()) {
        throw std::runtime_error(kUsage);
    }
    return options;
}

double now_s() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

int stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

// Answers each whole line that came. False: the input ended.
bool answer_commands(Path& path, std::string& pending) {
    char bytes[4096];
    const ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got <= 0) return false;
    pending.append(bytes, static_cast<std::size_t>(got));
    for (auto end = pending.find('\n'); end != std::string::npos; end = pending.find('\n')) {
        std::cout << path.command(pending.substr(0, end)) << std::endl;
        pending.erase(0, end + 1);
    }
    return pending.size() < sizeof bytes;
}

timespec until(double due_s) {
    const double left = std::clamp(due_s - now_s(), 0.0, 3600.0);
    const double whole = std::floor(left);
    return {static_cast<time_t>(whole), static_cast<long>((left - whole) * 1e9)};
}

void run(const Options& options) {
    Tun left(options.left, options.device, options.device_mtu);
    Tun right(options.right, options.device, options.device_mtu);
    Path path(left, right, options.impairments, options.seed);
    pollfd wait[] = {{left.descriptor(), POLLIN, 0},
                     {right.descriptor(), POLLIN, 0},
                     {STDIN_FILENO, POLLIN, 0},
                     {stop_signals(), POLLIN, 0}};
    std::string pending;
    std::cout << "ready" << std::endl;
    for (;;) {
        const timespec timeout = until(path.deliver(now_s()));
        if (ppoll(wait, 4, &timeout, nullptr) < 0) throw std::runtime_error("ppoll failed");
        if (wait[3].revents != 0) return;
        if (wait[2].revents != 0 && !answer_commands(path, pending)) return;
        if (wait[0].revents != 0) path.take(0, now_s());
        if (wait[1].revents != 0) path.take(1, now_s());
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(parse_options(argc, argv));
    } catch (const std::exception& problem) {
        std::cerr << problem.what() << "\n";
        return EXIT_FAILURE;
    }
}

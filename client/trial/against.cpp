#include "client/trial/against.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <vector>

#include "client/waiting.h"
#include "common/io/root.h"

namespace lambda::client {
namespace {

constexpr std::size_t kMostOutput = 64 * MiB;
constexpr int kNotStarted = 127;
constexpr Duration kLongest = std::chrono::hours(1);

Error failed(const std::string& why) {
    return Error{.fault = Fault::file,
                 .message = "iperf3 did not run: " + why,
                 .path = {},
                 .side = Side::local,
                 .remedy = "install it here, and start 'iperf3 -s' at the server"};
}

// What the program says on its standard output, until it ends.
Result<std::string> output_of(std::vector<std::string> words) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return failed("no pipe");
    io::Descriptor from(ends[0]), to(ends[1]);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t child = ::fork();
    if (child < 0) return failed("no process");
    if (child == 0) {
        ::dup2(to.get(), STDOUT_FILENO);
        ::execvp(arguments[0], arguments.data());
        ::_exit(kNotStarted);
    }
    to = io::Descriptor();
    std::string output;
    const Time deadline = now() + kLongest;
    while (output.size() < kMostOutput) {
        if (wait_for(from.get(), POLLIN, deadline) != Wait::ready) {
            ::kill(child, SIGTERM);
            break;
        }
        char piece[4096];
        const ssize_t got = ::read(from.get(), piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        output.append(piece, static_cast<std::size_t>(got));
    }
    from = io::Descriptor();
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (interrupted()) return interruption_error();
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNotStarted)
        return failed("there is no such program here");
    return output;
}

}  // namespace

Result<Measures> run_iperf3(const std::string& host, std::uint64_t size, unsigned streams,
                            bool reverse) {
    // Its -n is of each stream in old versions and of all in new ones: time tells the rate anyway.
    std::vector<std::string> words{
        "iperf3",     "--json",
        "--client",   host,
        "--parallel", std::to_string(streams),
        "--bytes",    std::to_string(std::max<std::uint64_t>(size / streams, 1))};
    if (reverse) words.emplace_back("--reverse");
    const auto output = output_of(std::move(words));
    if (!output) return output.error();
    const auto told = nlohmann::json::parse(*output, nullptr, false);
    if (!told.is_object()) return failed("it said nothing");
    if (const auto error = told.find("error"); error != told.end() && error->is_string())
        return failed(*error);
    const auto number = [&](const char* end, const char* name) {
        const nlohmann::json::json_pointer path(std::string("/end/") + end + "/" + name);
        const auto value = told.contains(path) ? told.at(path) : nlohmann::json();
        return value.is_number() ? value.get<double>() : 0.0;
    };
    Measures run{
        .bytes = static_cast<std::uint64_t>(number("sum_received", "bytes")),
        .seconds = number("sum_received", "seconds"),
        .gbit_per_s = number("sum_received", "bits_per_second") / 1e9,
        .jain = 1,
        .retransmitted_packets = static_cast<std::uint64_t>(number("sum_sent", "retransmits")),
        .rates = {},
        .evidence = {}};
    run.mean_mbit = 1e3 * run.gbit_per_s;
    if (run.seconds <= 0) return failed("it measured nothing");
    return run;
}

}  // namespace lambda::client

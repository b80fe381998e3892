#include "client/trial/against.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <vector>

#include "client/child.h"
#include "client/waiting.h"
#include "common/io/file/root.h"
#include "common/session/facts.h"

namespace lambda::client {
namespace {

constexpr std::size_t kMostOutput = 64 * MiB;
constexpr double kMostSaid = 1e18;  // the other end may say any number
constexpr Duration kLongest = std::chrono::hours(1);

using Program = Against::Program;

struct Known {
    Program program;
    const char* name;
    std::uint16_t port;
    const char* server;  // as its user starts it
};
constexpr std::array<Known, 2> kKnown{
    {{Program::iperf3, "iperf3", 5201, "iperf3 -s"},
     {Program::globus_url_copy, "globus-url-copy", 2811, "globus-gridftp-server -aa"}}};

const Known& known(Program program) {
    return *std::find_if(kKnown.begin(), kKnown.end(),
                         [&](const Known& each) { return each.program == program; });
}

Error failed(Program program, std::uint16_t port, const std::string& why) {
    const Known& each = known(program);
    return Error{.fault = Fault::file,
                 .message = std::string(each.name) + " did not run: " + why,
                 .path = {},
                 .side = Side::local,
                 .remedy = std::string("it must be installed here, and '") + each.server + " -p " +
                           std::to_string(port) + "' run at the server"};
}

// What it says on its standard output until it ends, and its exit code (nothing: a signal's).
struct Said {
    std::string output;
    std::optional<int> code{};
};
Result<Said> run_program(Program program, std::uint16_t port, std::vector<std::string> words) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return failed(program, port, "no pipe");
    io::Descriptor from(ends[0]), to(ends[1]);
    const auto child = spawn(std::move(words), to.get());
    if (!child) return failed(program, port, child.error().message);
    to = io::Descriptor();
    Said said;
    const Time deadline = now() + kLongest;
    while (said.output.size() < kMostOutput &&
           wait_for(from.get(), POLLIN, deadline) == Wait::ready) {
        char piece[4096];
        const ssize_t got = ::read(from.get(), piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        said.output.append(piece, static_cast<std::size_t>(got));
    }
    from = io::Descriptor();
    const auto [ended, status] = await_end(*child, deadline);
    if (ended == Wait::interrupted) return interruption_error();
    if (WIFEXITED(status)) said.code = WEXITSTATUS(status);
    return said;
}

Result<Measures> run_iperf3(const std::string& host, std::uint16_t port, std::uint64_t size,
                            unsigned streams, bool reverse) {
    // Of all streams together, as far as their buffers do not hold it at the end.
    std::vector<std::string> words{"iperf3",     "--json",
                                   "--client",   host,
                                   "--port",     std::to_string(port),
                                   "--parallel", std::to_string(streams),
                                   "--bytes",    std::to_string(size)};
    if (reverse) words.emplace_back("--reverse");
    const auto said = run_program(Program::iperf3, port, std::move(words));
    if (!said) return said.error();
    const auto told = nlohmann::json::parse(said->output, nullptr, false);
    if (!told.is_object()) return failed(Program::iperf3, port, "it said nothing");
    if (const auto error = told.find("error"); error != told.end() && error->is_string())
        return failed(Program::iperf3, port, *error);
    const auto number = [&](const char* end, const char* name) {
        const nlohmann::json::json_pointer path(std::string("/end/") + end + "/" + name);
        const auto value = told.contains(path) ? told.at(path) : nlohmann::json();
        return value.is_number() ? std::clamp(value.get<double>(), 0.0, kMostSaid) : 0.0;
    };
    Measures run{
        .bytes = static_cast<std::uint64_t>(number("sum_received", "bytes")),
        .seconds = number("sum_received", "seconds"),
        .gbit_per_s = number("sum_received", "bits_per_second") / 1e9,
        .retransmitted_packets = static_cast<std::uint64_t>(number("sum_sent", "retransmits")),
        .rates = {},
        .evidence = {}};
    // Its server may end before it has read anything.
    if (run.seconds <= 0 || run.bytes == 0) {
        return Error{.fault = Fault::file,
                     .message = "iperf3 measured nothing",
                     .path = {},
                     .side = Side::local,
                     .remedy = "a larger --size tells more"};
    }
    return run;
}

// What it says of an error goes to standard error by itself.
Result<Measures> run_globus(const std::string& host, std::uint16_t port, std::uint64_t size,
                            unsigned streams, bool reverse) {
    const bool six = host.find(':') != host.npos;
    const std::string there =
        "ftp://" + (six ? "[" + host + "]" : host) + ":" + std::to_string(port) + "/dev/";
    const std::string here = "file:///dev/";
    const Time began = now();
    const auto said = run_program(
        Program::globus_url_copy, port,
        {"globus-url-copy", "-q", "-p", std::to_string(streams), "-len", std::to_string(size),
         (reverse ? there : here) + "zero", (reverse ? here : there) + "null"});
    if (!said) return said.error();
    if (said->code != 0)
        return failed(Program::globus_url_copy, port, "it could not move the bytes");
    Measures run{.bytes = size,
                 .seconds = std::chrono::duration<double>(now() - began).count(),
                 .gbit_per_s = 0,
                 .rates = {},
                 .evidence = {}};
    run.gbit_per_s = 8e-9 * static_cast<double>(size) / run.seconds;
    return run;
}

}  // namespace

std::optional<Against> parse_against(const std::string& text) {
    const std::size_t colon = text.find(':');
    const auto each = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& one) {
        return text.substr(0, colon) == one.name;
    });
    if (each == kKnown.end()) return std::nullopt;
    Against against{.program = each->program, .port = each->port};
    if (colon == text.npos) return against;
    const auto port = session::parse_number(text.substr(colon + 1));
    if (!port || *port == 0 || *port > UINT16_MAX) return std::nullopt;
    against.port = static_cast<std::uint16_t>(*port);
    return against;
}

Result<Measures> run_against(const Against& against, const std::string& host, std::uint64_t size,
                             unsigned streams, bool reverse) {
    return against.program == Program::iperf3
               ? run_iperf3(host, against.port, size, streams, reverse)
               : run_globus(host, against.port, size, streams, reverse);
}

}  // namespace lambda::client

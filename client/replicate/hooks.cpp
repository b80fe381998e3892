#include "client/replicate/hooks.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "client/remote/place.h"
#include "client/waiting.h"
#include "common/base/units.h"
#include "common/dialling/dial.h"

namespace lambda::client::replicate {
namespace {

constexpr Duration kPostTimeout = std::chrono::seconds(10);
constexpr std::uint16_t kHttpPort = 80;
constexpr std::size_t kMostAnswer = 4096;

Error failed(const Hook& hook, std::string what) {
    return Error{.fault = Fault::file,
                 .message = "the command of `" + std::string(hook.key) + "` " + what,
                 .path = hook.command,
                 .side = Side::local,
                 .remedy = {}};
}

// The first bytes that come, until the line ends.
Result<std::string> first_line(int socket, Time deadline, const Error& late) {
    std::string line;
    while (line.find('\n') == line.npos && line.size() < kMostAnswer) {
        if (wait_for(socket, POLLIN, deadline) != Wait::ready) return late;
        char piece[512];
        const ssize_t got = ::recv(socket, piece, sizeof piece, 0);
        if (got <= 0) break;
        line.append(piece, static_cast<std::size_t>(got));
    }
    return line.substr(0, line.find_first_of("\r\n"));
}

Result<void> send_all(int socket, std::string_view bytes, Time deadline, const Error& late) {
    while (!bytes.empty()) {
        if (wait_for(socket, POLLOUT, deadline) != Wait::ready) return late;
        const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) continue;
        if (sent < 0) return late;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
}

}  // namespace

Result<void> run_command(const Hook& hook, const Variables& variables, Duration timeout) {
    const auto child = spawn({"/bin/sh", "-c", hook.command}, STDERR_FILENO, variables);
    if (!child) return child.error();
    const auto [ended, status] = await_end(*child, now() + timeout);
    if (ended == Wait::interrupted) return interruption_error();
    if (ended == Wait::late)
        return failed(hook, "took more than " + format_duration(timeout) + " and was ended");
    if (WIFSIGNALED(status))
        return failed(hook, "was killed by signal " + std::to_string(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0)
        return failed(hook, "ended with code " + std::to_string(WEXITSTATUS(status)));
    return {};
}

Result<Webhook> parse_webhook(const std::string& url) {
    constexpr std::string_view kScheme = "http://";
    const auto bad = [&](std::string message) {
        return Error{.fault = Fault::usage,
                     .message = "'" + url + "' " + std::move(message),
                     .path = {},
                     .side = {},
                     .remedy = "write http://HOST[:PORT]/PATH"};
    };
    if (!url.starts_with(kScheme))
        return bad("does not begin with http:// (for others use `after` and curl)");
    const std::size_t slash = std::min(url.find('/', kScheme.size()), url.size());
    Webhook hook{.server = {},
                 .authority = url.substr(kScheme.size(), slash - kScheme.size()),
                 .path = slash < url.size() ? url.substr(slash) : "/"};
    // The grammar of a place's host and port.
    auto place = parse_place("lambda://" + hook.authority + "/");
    if (!place || !place->server->user.empty()) return bad("names no host and port");
    hook.server = place->server->host_port();
    const bool alone =
        hook.authority.ends_with(']') || hook.authority.find(':') == hook.authority.npos;
    if (alone) hook.server.port = kHttpPort;
    return hook;
}

Result<void> post_json(const std::string& url, const std::string& json) {
    const auto hook = parse_webhook(url);
    if (!hook) return hook.error();
    const Error no_answer{.fault = Fault::session,
                          .message = "the webhook did not answer",
                          .path = url,
                          .side = Side::network,
                          .remedy = {}};
    const Time deadline = now() + kPostTimeout;
    const auto dialled = dialling::dial(hook->server, deadline, interruption());
    if (!dialled) {
        Error error = dialled.error();
        error.path = url;
        error.remedy.clear();  // it is of a lambda-ftpd
        return error;
    }
    const std::string request =
        "POST " + hook->path + " HTTP/1.1\r\nHost: " + hook->authority +
        "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(json.size()) +
        "\r\nConnection: close\r\n\r\n" + json;
    const int socket = dialled->socket.get();
    if (auto sent = send_all(socket, request, deadline, no_answer); !sent) return sent;
    const auto answer = first_line(socket, deadline, no_answer);
    if (!answer) return answer.error();
    const std::size_t code = std::min(answer->find(' '), answer->size());
    if (answer->starts_with("HTTP/") && answer->substr(code).starts_with(" 2")) return {};
    Error refused = no_answer;
    refused.message = "the webhook answered: " + (answer->empty() ? "nothing" : *answer);
    return refused;
}

}  // namespace lambda::client::replicate

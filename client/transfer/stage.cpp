#include "client/transfer/stage.h"

#include "common/session/range.h"

namespace lambda::client {
namespace {

using Action = session::StageRequest::Action;

// More than any log of a stage has room for.
constexpr std::size_t kMostRanges = 1 << 19;

Error refused(int code, const std::string& text, const std::string& path) {
    if (code == 502)
        return Error{.fault = Fault::unsupported,
                     .message = "the server does not know how to put ranges together",
                     .path = path_at_server(path),
                     .side = Side::remote,
                     .remedy = "move the whole file, or use a newer server"};
    return refusal({.code = code, .lines = {text}}, code == 450 ? Fault::cut : Fault::file, path);
}

Result<session::ReplyLine> ask(Connection& connection, Action action, const Stage& stage,
                               const std::string& path,
                               const std::function<void(const session::ReplyLine&)>& take) {
    const auto sent = connection.send(
        "STAGE", session::format_stage({.action = action, .stage = stage, .path = path}));
    if (!sent) return sent.error();
    auto last = connection.receive_lines(take);
    if (last && last->code >= 400) return refused(last->code, last->text, path);
    return last;
}

Result<void> order(Connection& connection, Action action, const Stage& stage,
                   const std::string& path) {
    const auto answered = ask(connection, action, stage, path, [](const session::ReplyLine&) {});
    if (!answered) return answered.error();
    return {};
}

}  // namespace

Result<IntervalSet> look_at_stage(Connection& connection, const Stage& stage,
                                  const std::string& path) {
    IntervalSet done;
    bool sound = true;
    const auto answered =
        ask(connection, Action::look, stage, path, [&](const session::ReplyLine& line) {
            if (line.first || line.last) return;
            const auto range = session::parse_done(line.text);
            sound = sound && range && done.ranges().size() < kMostRanges;
            if (sound) done.insert(*range);
        });
    if (!answered) return answered.error();
    if (sound) return done;
    return Error{.fault = Fault::protocol,
                 .message = "the server's answer about its ranges makes no sense",
                 .path = path_at_server(path),
                 .side = Side::remote,
                 .remedy = {}};
}

Result<void> finish_stage(Connection& connection, const Stage& stage, const std::string& path) {
    return order(connection, Action::finish, stage, path);
}

Result<void> discard_stage(Connection& connection, const Stage& stage, const std::string& path) {
    return order(connection, Action::discard, stage, path);
}

}  // namespace lambda::client

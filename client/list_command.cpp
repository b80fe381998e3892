#include "client/list_command.h"

#include "client/entry_lines.h"
#include "client/remote_pattern.h"
#include "client/remote_session.h"
#include "common/transfer/filter.h"

namespace lambda::client {
namespace {

// The server takes 64 commands in hand, of which the login has two.
constexpr std::size_t kInHand = 32;

using TakeEntry = std::function<void(session::Entry)>;

// The reply to an MLSD. What is wrong with one line is wrong with all.
Result<session::ReplyLine> receive_entries(Connection& connection, const TakeEntry& take) {
    std::optional<Error> wrong;
    auto last = connection.receive_lines([&](const session::ReplyLine& line) {
        if (line.first || wrong) return;
        auto entry = session::parse_entry(line.text);
        if (!entry) {
            wrong = entry.error();
        } else {
            take(*std::move(entry));
        }
    });
    if (last && wrong) return *wrong;
    return last;
}

std::optional<session::Entry> entry_in(const session::Reply& reply) {
    if (!reply.positive() || reply.lines.size() < 2) return std::nullopt;
    auto entry = session::parse_entry(reply.lines[1]);
    if (!entry) return std::nullopt;
    return *std::move(entry);
}

class ServerNames final : public RemoteNames {
  public:
    explicit ServerNames(Connection& connection) : connection_(connection) {}

    Result<void> list(const std::vector<std::string>& directories, const Take& take) override {
        return ask("MLSD", directories, [&](std::size_t i) -> Result<void> {
            const auto last = receive_entries(
                connection_, [&](session::Entry entry) { take(directories[i], std::move(entry)); });
            return last ? Result<void>() : last.error();
        });
    }

    Result<std::vector<std::optional<session::Entry>>> look(
        const std::vector<std::string>& paths) override {
        std::vector<std::optional<session::Entry>> found(paths.size());
        const auto asked = ask("MLST", paths, [&](std::size_t i) -> Result<void> {
            const auto reply = connection_.receive();
            if (!reply) return reply.error();
            found[i] = entry_in(*reply);
            return {};
        });
        if (!asked) return asked.error();
        return found;
    }

  private:
    // `hear` takes the answer about each path, in their order.
    Result<void> ask(const char* verb, const std::vector<std::string>& paths,
                     const std::function<Result<void>(std::size_t)>& hear) {
        std::size_t sent = 0;
        for (std::size_t heard = 0; heard < paths.size(); ++heard) {
            for (; sent < std::min(paths.size(), heard + kInHand); ++sent) {
                if (auto queued = connection_.send(verb, paths[sent]); !queued) return queued;
            }
            if (auto each = hear(heard); !each) return each;
        }
        return {};
    }

    Connection& connection_;
};

// In one round trip: what stands there, and what it holds if it is a directory, or leads to one.
Result<void> list_place(Connection& connection, const std::string& path, Report& report) {
    LAMBDA_ASSERT(connection.send("MLST", path).ok());
    LAMBDA_ASSERT(connection.send("MLSD", path).ok());
    const auto stands = connection.receive();
    if (!stands) return stands.error();
    EntriesByName entries(
        [&](const session::Entry& entry) { show_entry(entry, entry.name, report); });
    const auto last =
        receive_entries(connection, [&](session::Entry entry) { entries.take(std::move(entry)); });
    entries.end();
    if (!entries.sorted()) {
        report.note("of so many, those behind the first " +
                    std::to_string(EntriesByName::kMostSorted) + " are not sorted by name");
    }
    if (!last) return last.error();
    if (last->code < 400) return {};
    const auto entry = entry_in(*stands);
    if (entry && entry->type != session::EntryType::directory) {
        show_entry(*entry, path, report);
        return {};
    }
    if (entry || !transfer::has_wildcards(path))
        return refusal({.code = last->code, .lines = {last->text}}, Fault::file, path);
    ServerNames names(connection);
    auto matches = expand_pattern(path, names);
    if (!matches) return matches.error();
    for (session::Entry& match : *matches) entries.take(std::move(match));
    entries.end();
    return {};
}

}  // namespace

void list(const Arguments& arguments, Report& report) {
    auto session = RemoteSession::of_places(arguments.operands, {"MLST", "MLSD"});
    if (!session) return report.error(session.error());
    if (auto opened = session->open(arguments, report); !opened) {
        return report.error(opened.error());
    }
    const auto listed = list_place(session->connection(), session->paths().front(), report);
    if (session->connection().logged_in()) report.session_stands();
    if (!listed) report.error(listed.error());
}

}  // namespace lambda::client

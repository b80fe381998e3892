#include "client/replicate/remote_tree.h"

#include <deque>

#include "client/remote/place.h"
#include "client/remote/server_names.h"
#include "client/waiting.h"
#include "common/ports/disk.h"
#include "common/session/entry.h"
#include "common/transfer/names.h"
#include "common/transfer/record.h"

namespace lambda::client::replicate {
namespace {

Kind kind_of(session::EntryType type) {
    switch (type) {
        case session::EntryType::file:
            return Kind::file;
        case session::EntryType::directory:
            return Kind::directory;
        case session::EntryType::link:
            return Kind::link;
        case session::EntryType::special:
            return Kind::other;
    }
    LAMBDA_ASSERT(false);
}

Standing standing_of(const session::Entry& entry) {
    return {.kind = kind_of(entry.type),
            .size = entry.size,
            .mtime_ns = entry.mtime_ns,
            .mode = entry.mode};
}

// What a directory may call something in it.
bool is_leaf(const std::string& name) {
    return transfer::acceptable_name(name) && name.find('/') == name.npos;
}

Error leads_out(const std::string& name) {
    return {.fault = Fault::protocol,
            .message = "the server lists a name that leads out of its directory",
            .path = name,
            .side = Side::remote,
            .remedy = "do not trust this server"};
}

Error never_ends(const std::string& path) {
    return {.fault = Fault::protocol,
            .message = "the server lists more than " + std::to_string(Connection::kMostLines) +
                       " entries below it",
            .path = path_at_server(path),
            .side = Side::remote,
            .remedy = "name less of it"};
}

}  // namespace

Result<RemoteTree> RemoteTree::open(const Server& server, const Access& access) {
    auto connection = open_connection(server, access, [](const std::string&) {});
    if (!connection) return connection.error();
    return RemoteTree(*std::move(connection));
}

Result<std::vector<There>> RemoteTree::stand(const std::vector<std::string>& paths) {
    std::vector<There> found(paths.size());
    std::deque<std::size_t> asked;
    std::size_t next = 0;
    while (next < paths.size() || !asked.empty()) {
        for (; next < paths.size() && asked.size() < kInHand; ++next) {
            if (auto sent = connection_->send("MLST", paths[next]); sent) {
                asked.push_back(next);
            } else {
                found[next] = std::make_shared<const Error>(sent.error());
            }
        }
        if (asked.empty()) break;
        const auto reply = connection_->receive();
        if (!reply) return reply.error();
        const std::size_t at = asked.front();
        asked.pop_front();
        if (!reply->positive()) {
            if (!says_missing(reply->text()))
                found[at] = std::make_shared<const Error>(refusal(*reply, Fault::file, paths[at]));
            continue;
        }
        const auto entry =
            entry_of(reply->lines.size() < 2 ? std::string() : reply->lines[1], paths[at]);
        found[at] = entry ? There(standing_of(*entry))
                          : There(std::make_shared<const Error>(entry.error()));
    }
    return found;
}

Result<void> RemoteTree::walk(const std::string& path, const std::string& prefix,
                              const Visit& visit, const Refused& refused) {
    std::deque<std::string> waiting{"."};
    std::deque<std::string> asked;
    std::size_t lines = 0;
    while (!waiting.empty() || !asked.empty()) {
        while (!waiting.empty() && asked.size() < kInHand) {
            const std::string below = std::move(waiting.front());
            waiting.pop_front();
            if (auto sent = connection_->send("MLSD", joined(path, below)); sent) {
                asked.push_back(below);
            } else {
                refused(joined(prefix, below), sent.error());
            }
        }
        if (asked.empty()) continue;
        const std::string directory = std::move(asked.front());
        asked.pop_front();
        const std::string place = joined(path, directory);
        std::optional<std::string> odd;
        std::optional<Error> senseless;
        const auto last = connection_->receive_lines([&](const session::ReplyLine& line) {
            ++lines;
            if (line.first) return;
            const auto entry = entry_of(line.text, place);
            if (!entry) senseless = entry.error();
            if (!entry || ports::is_partial_name(entry->name)) return;
            if (!is_leaf(entry->name)) {
                odd = entry->name;
                return;
            }
            const std::string below = joined(directory, entry->name);
            const Standing standing = standing_of(*entry);
            if (visit(joined(prefix, below), standing) && standing.kind == Kind::directory)
                waiting.push_back(below);
        });
        if (!last) return last.error();
        if (odd) return leads_out(*odd);
        if (lines > Connection::kMostLines) return never_ends(path);
        if (senseless) {
            senseless->fault = Fault::file;  // of this directory, not of the session
            refused(joined(prefix, directory), *senseless);
        }
        if (auto why = no_listing(*last, place))
            refused(joined(prefix, directory), *std::move(why));
    }
    return {};
}

}  // namespace lambda::client::replicate

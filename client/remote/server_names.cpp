#include "client/remote/server_names.h"

namespace lambda::client {
bool says_missing(std::string_view refusal) {
    return refusal.find("No such file or directory") != refusal.npos ||
           refusal.find("Not a directory") != refusal.npos;
}

Result<session::Entry> entry_of(std::string_view line, const std::string& path) {
    auto entry = session::parse_entry(line);
    if (entry) return entry;
    return dialling::senseless(entry.error(), path);
}

std::optional<Error> no_listing(const session::ReplyLine& last, const std::string& path) {
    if (last.code >= 200 && last.code < 300) return std::nullopt;
    return refusal({.code = last.code, .lines = {last.text}}, Fault::file, path);
}

Result<session::ReplyLine> receive_entries(Connection& connection, const std::string& path,
                                           const TakeEntry& take) {
    std::optional<Error> wrong;
    auto last = connection.receive_lines([&](const session::ReplyLine& line) {
        if (line.first || wrong) return;
        auto entry = entry_of(line.text, path);
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

Result<void> ServerNames::list(const std::vector<std::string>& directories, const Take& take,
                               const Unread& unread) {
    return ask_all(connection_, "MLSD", directories, [&](std::size_t i) -> Result<void> {
        const auto last = receive_entries(connection_, directories[i], [&](session::Entry entry) {
            take(directories[i], std::move(entry));
        });
        if (!last) return last.error();
        if (const auto why = no_listing(*last, directories[i]); why && !says_missing(last->text))
            unread(*why);
        return {};
    });
}

Result<std::vector<std::optional<session::Entry>>> ServerNames::look(
    const std::vector<std::string>& paths) {
    std::vector<std::optional<session::Entry>> found(paths.size());
    const auto asked = ask_all(connection_, "MLST", paths, [&](std::size_t i) -> Result<void> {
        const auto reply = connection_.receive();
        if (!reply) return reply.error();
        found[i] = entry_in(*reply);
        return {};
    });
    if (!asked) return asked.error();
    return found;
}

}  // namespace lambda::client

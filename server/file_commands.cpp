#include "server/file_commands.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "common/io/file/attributes.h"
#include "common/session/facts.h"
#include "common/session/timestamp.h"
#include "server/listing.h"

namespace lambda::server {
namespace {

using session::Command;
using session::Reply;

// A path that PWD can show in one line, quoted and doubled.
constexpr std::size_t kMaxDirectory = 1000;

Reply reply(int code, std::string text) {
    return Reply{.code = code, .lines = {std::move(text)}};
}

Reply done(const Result<void>& result, int code, std::string text) {
    return result ? reply(code, std::move(text)) : error_reply(result.error());
}

// RFC 959 Appendix II: a quote within is doubled.
std::string in_quotes(const std::string& path) {
    std::string text = "\"";
    for (const char c : path) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    return text + "\"";
}

// Without ".", "..", and empty components; ".." at the top stays there, and the root refuses it.
std::string normal(const std::string& path) {
    std::string result;
    for (std::size_t at = 0; at < path.size();) {
        const std::size_t slash = std::min(path.find('/', at), path.size());
        const std::string part = path.substr(at, slash - at);
        at = slash + 1;
        if (part == "..") {
            result.erase(result.empty() ? 0 : result.find_last_of('/'));
        } else if (!part.empty() && part != ".") {
            result += "/" + part;
        }
    }
    return result.empty() ? "/" : result;
}

Error not_a_file(const std::string& path) {
    return Error{.fault = Fault::file,
                 .message = "not a regular file",
                 .path = path,
                 .side = Side::local,
                 .remedy = {}};
}

Reply change_directory(const std::string& path, const io::Root& root, FilePlace& place) {
    const std::string name = resolve(place.directory, path);
    const Result<struct stat> status = root.stat(name, true);
    if (!status) return error_reply(status.error());
    if (!S_ISDIR(status->st_mode)) {
        return error_reply(errno_error(Fault::file, "cannot change to it", name, ENOTDIR));
    }
    std::string directory = normal(name);
    if (directory.size() > kMaxDirectory) {
        return error_reply(errno_error(Fault::file, "cannot change to it", name, ENAMETOOLONG));
    }
    place.directory = std::move(directory);
    return reply(250, "The working directory is " + in_quotes(place.directory));
}

Reply size_of(const std::string& name, const io::Root& root) {
    const Result<struct stat> status = root.stat(name, true);
    if (!status) return error_reply(status.error());
    if (!S_ISREG(status->st_mode)) return error_reply(not_a_file(name));
    return reply(213, std::to_string(status->st_size));
}

Reply modification_time(const std::string& name, const io::Root& root) {
    const Result<struct stat> status = root.stat(name, true);
    if (!status) return error_reply(status.error());
    return reply(213, session::format_timestamp(io::nanoseconds_of(status->st_mtim)));
}

Reply facts_of(const std::string& name, const io::Root& root) {
    const Result<io::Descriptor> opened = root.open(name, O_PATH | O_NOFOLLOW);
    if (!opened) return error_reply(opened.error());
    Found found{.directory = opened->get(), .name = "", .status = {}};
    if (::fstat(found.directory, &found.status) != 0)
        return error_reply(errno_error(Fault::file, "cannot look at", name, errno));
    // The last component alone: with it a line always fits.
    const std::string whole = normal(name);
    const std::string leaf = whole.substr(whole.find_last_of('/') + 1);
    const session::Entry entry = entry_of(found, leaf.empty() ? "/" : leaf, root.read_only());
    return Reply{.code = 250, .lines = {"Facts", session::format_entry(entry), "End"}};
}

Reply rename_from(const std::string& name, const io::Root& root, FilePlace& place) {
    if (root.read_only()) return reply(550, "This account may only read");
    const Result<struct stat> status = root.stat(name, false);
    if (!status) return error_reply(status.error());
    place.rename_from = name;
    return reply(350, "Say the new name by RNTO");
}

Reply rename_to(const std::string& name, const io::Root& root, FilePlace& place) {
    if (!place.rename_from) return reply(503, "Say the old name by RNFR first");
    const std::string from = *std::exchange(place.rename_from, std::nullopt);
    return done(root.rename(from, name), 250, "Renamed");
}

}  // namespace

bool is_file_command(std::string_view verb) {
    constexpr std::array<std::string_view, 11> kVerbs{"PWD", "CWD", "CDUP", "SIZE", "MDTM", "MLST",
                                                      "MKD", "RMD", "DELE", "RNFR", "RNTO"};
    return std::find(kVerbs.begin(), kVerbs.end(), verb) != kVerbs.end();
}

Reply run_file_command(const Command& command, const io::Root& root, FilePlace& place) {
    const std::string& verb = command.verb;
    if (verb != "RNTO") place.rename_from.reset();
    if (verb == "PWD") return reply(257, in_quotes(place.directory));
    if (verb == "CDUP") return change_directory(normal(place.directory + "/.."), root, place);
    if (verb != "MLST" && command.argument.empty()) return reply(501, verb + " needs a path");
    if (verb == "CWD") return change_directory(command.argument, root, place);

    const std::string name = resolve(place.directory, command.argument);
    if (verb == "SIZE") return size_of(name, root);
    if (verb == "MDTM") return modification_time(name, root);
    if (verb == "MLST") return facts_of(name, root);
    if (verb == "MKD") return done(root.make_directory(name), 257, in_quotes(name) + " made");
    if (verb == "RMD") return done(root.remove_directory(name), 250, "Removed");
    if (verb == "DELE") return done(root.remove_file(name), 250, "Removed");
    if (verb == "RNFR") return rename_from(name, root, place);
    LAMBDA_ASSERT(verb == "RNTO");
    return rename_to(name, root, place);
}

std::optional<std::string> change_of(const Command& command, const FilePlace& place) {
    const std::string& verb = command.verb;
    const std::string name = resolve(place.directory, command.argument);
    if (verb == "MKD") return "made the directory " + name;
    if (verb == "RMD") return "removed the directory " + name;
    if (verb == "DELE") return "removed " + name;
    if (verb == "RNTO") return "renamed " + place.rename_from.value_or("") + " to " + name;
    return std::nullopt;
}

std::string resolve(const std::string& directory, const std::string& path) {
    if (path.empty()) return directory;
    if (path.front() == '/') return path;
    return directory == "/" ? "/" + path : directory + "/" + path;
}

Reply error_reply(const Error& error) {
    const int code = error.fault == Fault::usage ? 501 : error.fault == Fault::cut ? 451 : 550;
    return reply(code, error.sentence());
}

}  // namespace lambda::server

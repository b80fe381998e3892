#include "client/transfer/ranges.h"

#include <sys/stat.h>

#include <cerrno>

#include "client/transfer/attempt.h"
#include "client/transfer/stage.h"
#include "common/base/name_parts.h"
#include "common/io/stage/stage.h"
#include "common/session/facts.h"
#include "common/session/timestamp.h"

namespace lambda::client {
namespace {

bool putting(const StagedFile& file) {
    return file.direction == session::Direction::put;
}

Error no_source(const std::string& path, Side side) {
    return Error{.fault = Fault::file,
                 .message = "has no ranges: it is no regular file",
                 .path = path,
                 .side = side,
                 .remedy = {}};
}

// In a session of its own.
template <typename Work>
auto at_server(const StagedFile& file, const Arguments& arguments, Report& report, Work work)
    -> decltype(work(std::declval<Connection&>())) {
    auto connection = open_connection(file.server, arguments.access(),
                                      [&](const std::string& text) { report.note(text); });
    if (!connection) return connection.error();
    auto worked = work(**connection);
    if ((*connection)->logged_in()) report.session_stands();
    return worked;
}

Result<FileVersion> version_here(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        return errno_error(Fault::file, "cannot look at", path, errno);
    if (!S_ISREG(status.st_mode)) return no_source(path, Side::local);
    return FileVersion{
        .size = static_cast<std::uint64_t>(status.st_size),
        .mtime_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
        .id = status.st_ino};
}

// SIZE is of regular files alone.
Result<FileVersion> version_there(Connection& connection, const std::string& path) {
    for (const char* verb : {"SIZE", "MDTM"}) {
        if (const auto sent = connection.send(verb, path); !sent) return sent.error();
    }
    const auto size = connection.receive();
    if (!size) return size.error();
    const auto time = connection.receive();
    if (!time) return time.error();
    for (const auto* reply : {&*size, &*time}) {
        if (reply->code != 213) return refusal(*reply, Fault::file, path);
    }
    const auto bytes = session::parse_number(size->text());
    const auto mtime = session::parse_timestamp(time->text());
    if (bytes && mtime) return FileVersion{.size = *bytes, .mtime_ns = *mtime, .id = 0};
    return Error{.fault = Fault::protocol,
                 .message = "the server's answer about its size and time makes no sense",
                 .path = path_at_server(path),
                 .side = Side::remote,
                 .remedy = {}};
}

}  // namespace

Result<FileVersion> version_of_source(const StagedFile& file, const Arguments& arguments,
                                      Report& report) {
    auto version = putting(file) ? version_here(file.here)
                                 : at_server(file, arguments, report, [&](Connection& connection) {
                                       return version_there(connection, file.there);
                                   });
    if (!version || version->size > 0) return version;
    return Error{.fault = Fault::usage,
                 .message = "an empty file has no ranges",
                 .path = putting(file) ? file.here : path_at_server(file.there),
                 .side = putting(file) ? Side::local : Side::remote,
                 .remedy = "move it without --stage"};
}

Result<mover::Outcome> carry_range(const StagedFile& file, Range bytes, std::uint64_t fence,
                                   const Arguments& arguments, Report& report) {
    if (!fits_stage(bytes, file.stage.source.size))
        return Error{.fault = Fault::usage,
                     .message = "these bytes are no range that can be carried",
                     .path = file.here,
                     .side = Side::local,
                     .remedy =
                         "begin and end it at multiples of 1 MiB within the file, or at its "
                         "end"};
    const std::string& source = putting(file) ? file.here : file.there;
    Plan plan{.direction = file.direction,
              .server = file.server,
              .items = {{.argument = source,
                         .path = source,
                         .name = base_name(source),
                         .named = file.named}},
              .several = false,
              .remote_target = putting(file) ? file.there : std::string(),
              .local_target = {.path = putting(file) ? std::string() : file.here},
              .range = PlannedRange{.range = {.bytes = bytes, .version = file.stage.source},
                                    .stage = file.stage.name,
                                    .fence = fence}};
    return attempt_once(std::move(plan), arguments, report);
}

Result<void> finish_file(const StagedFile& file, const Arguments& arguments, Report& report) {
    if (!putting(file)) return io::finish_stage(io::Root::machine(), file.here, file.stage);
    return at_server(file, arguments, report, [&](Connection& connection) {
        return finish_stage(connection, file.stage, file.there);
    });
}

Result<void> discard_ranges(const StagedFile& file, const Arguments& arguments, Report& report) {
    if (!putting(file)) return io::discard_stage(io::Root::machine(), file.here, file.stage);
    return at_server(file, arguments, report, [&](Connection& connection) {
        return discard_stage(connection, file.stage, file.there);
    });
}

}  // namespace lambda::client

#include "client/checksum.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "client/remote_session.h"
#include "client/waiting.h"
#include "common/io/root.h"

namespace lambda::client {
namespace {

constexpr const char* kAlgorithm = "xxh3-128";
// A server reads the whole file before it answers: a petabyte at 1 GB/s is 12 days.
constexpr Duration kDigestTimeout = std::chrono::hours(24 * 14);

void show(const std::string& operand, const std::string& digest, Report& report) {
    report.data(JsonObject()
                    .text("event", "checksum")
                    .text("path", operand)
                    .text("algorithm", kAlgorithm)
                    .text("digest", digest),
                digest + "  " + operand);
}

// Reads until `into` is full or the file ends.
Result<std::size_t> read_leaf(int fd, ByteSpan into, std::uint64_t offset,
                              const std::string& path) {
    std::size_t filled = 0;
    while (filled < into.size()) {
        const ssize_t got = ::pread(fd, into.data() + filled, into.size() - filled,
                                    static_cast<off_t>(offset + filled));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno_error(Fault::file, "cannot read", path, errno);
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
    }
    return filled;
}

void show_local(const std::string& path, Report& report) {
    const auto digest = local_digest(path);
    if (!digest) return report.error(digest.error());
    show(path, transfer::to_hex(*digest), report);
}

void show_remote(const std::string& operand, RemoteSession& session, Report& report) {
    const std::string& path = session.paths().front();
    const std::string request = session::format_checksum(
        {.algorithm = kAlgorithm, .offset = 0, .length = std::nullopt, .path = path});
    if (auto queued = session.connection().send("CKSM", request); !queued) {
        return report.error(queued.error());
    }
    const auto reply = session.receive(report, kDigestTimeout);
    if (!reply) return report.error(reply.error());
    if (!reply->positive()) return report.error(refusal(*reply, Fault::file, path));
    show(operand, reply->text(), report);
}

}  // namespace

void checksum(const Arguments& arguments, Report& report) {
    for (const std::string& operand : arguments.operands) {
        const auto place = parse_place(operand);
        if (!place) {
            report.error(place.error());
            continue;
        }
        if (!place->server || ::access(operand.c_str(), F_OK) == 0) {
            show_local(operand, report);
            continue;
        }
        auto session = RemoteSession::of_places({operand}, {"CKSM"});
        if (!session) {
            report.error(session.error());
            continue;
        }
        if (auto opened = session->open(arguments, report); !opened) {
            return report.error(opened.error());
        }
        show_remote(operand, *session, report);
    }
}

Result<transfer::Digest> local_digest(const std::string& path) {
    const io::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file) return errno_error(Fault::file, "cannot open", path, errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) {
        return errno_error(Fault::file, "cannot look at it", path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return Error{.fault = Fault::file,
                     .message = "is no regular file",
                     .path = path,
                     .side = Side::local,
                     .remedy = {}};
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    transfer::FileDigest digest(size);
    std::vector<std::byte> leaf(transfer::kLeafBytes);
    for (std::uint64_t offset = 0; offset < size; offset += transfer::kLeafBytes) {
        if (interrupted()) return interruption_error();
        const std::size_t wanted = std::min<std::uint64_t>(size - offset, leaf.size());
        const auto got = read_leaf(file.get(), {leaf.data(), wanted}, offset, path);
        if (!got) return got.error();
        if (*got != wanted) {
            return Error{.fault = Fault::file,
                         .message = "it shrank while it was read",
                         .path = path,
                         .side = Side::local,
                         .remedy = "try again when nobody writes to it"};
        }
        digest.add_leaf(offset, transfer::leaf_digest({leaf.data(), wanted}));
    }
    return digest.finish();
}

}  // namespace lambda::client

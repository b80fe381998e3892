#include "server/state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <span>
#include <system_error>
#include <thread>

#include "common/io/file/replace_file.h"
#include "common/io/file/root.h"
#include "common/io/file/small_file.h"
#include "common/io/log.h"
#include "common/io/tls/tls.h"
#include "common/session/facts.h"

namespace lambda::server {
namespace {

constexpr std::uint64_t kMaxStarts = 0xffffffff;
constexpr std::size_t kStartsBytes = 64;

// Empty, or with a file that a server has made there.
bool may_be_ours(const std::string& directory) {
    for (const char* file : {"key.pem", "accounts.yaml", "starts"}) {
        if (::access((directory + "/" + file).c_str(), F_OK) == 0) return true;
    }
    std::error_code problem;
    const bool empty = std::filesystem::is_empty(directory, problem);
    return empty && !problem;
}

}  // namespace

std::string accounts_file(const config::ServerSettings& settings) {
    return settings.accounts.empty() ? settings.state + "/accounts.yaml" : settings.accounts;
}

std::string certificate_file(const config::ServerSettings& settings) {
    return settings.certificate.empty() ? settings.state + "/certificate.pem"
                                        : settings.certificate;
}

std::string key_file(const config::ServerSettings& settings) {
    return settings.certificate.empty() ? settings.state + "/key.pem" : settings.key;
}

Result<void> make_state_directory(const std::string& directory) {
    if (::mkdir(directory.c_str(), 0700) == 0) return {};
    if (errno != EEXIST) {
        Error error =
            errno_error(Fault::usage, "cannot make the state directory", directory, errno);
        error.remedy = "choose another by --state";
        return error;
    }
    struct stat status {};
    if (::stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
        return errno_error(Fault::usage, "cannot use the state directory", directory, ENOTDIR);
    }
    if ((status.st_mode & 077) == 0) return {};
    // One that was named by mistake, /tmp perhaps, must not be closed to the whole machine. What we
    // put into it is closed by itself.
    if (!may_be_ours(directory)) {
        if ((status.st_mode & 022) == 0) return {};
        return Error{
            .fault = Fault::usage,
            .message = "others may write into this directory, and it holds what is not ours",
            .path = directory,
            .side = Side::local,
            .remedy = "name a state directory of its own, or close it by chmod 700"};
    }
    if (::chmod(directory.c_str(), 0700) != 0) {
        return errno_error(Fault::usage, "cannot close the state directory to others", directory,
                           errno);
    }
    return {};
}

Result<void> replace_file(const std::string& file, std::string_view text,
                          const std::string& state_directory) {
    return io::replace_file(file, std::as_bytes(std::span(text)), 0600,
                            [&](int fresh) { return keep_owner(fresh, file, state_directory); });
}

Result<void> keep_owner(int fd, const std::string& file, const std::string& state_directory) {
    if (::geteuid() != 0) return {};
    struct stat ours {};
    if (::fstat(fd, &ours) != 0 || !S_ISREG(ours.st_mode) || ours.st_nlink != 1) {
        return Error{.fault = Fault::file,
                     .message = "is no file of its own: root gives away no other",
                     .path = file,
                     .side = Side::local,
                     .remedy = "see who made it and its .lock, and remove it"};
    }
    struct stat owner {};
    const bool has_owner = ::lstat(file.c_str(), &owner) == 0 && owner.st_uid != 0;
    if ((!has_owner && ::stat(state_directory.c_str(), &owner) != 0) ||
        ::fchown(fd, owner.st_uid, owner.st_gid) != 0) {
        return errno_error(Fault::file, "cannot give the file to the server's user", file, errno);
    }
    return {};
}

Result<bool> has_certificate(const std::string& certificate_file, const std::string& key_file) {
    const bool certificate = ::access(certificate_file.c_str(), F_OK) == 0;
    const bool key = ::access(key_file.c_str(), F_OK) == 0;
    if (certificate == key) return certificate;
    return Error{.fault = Fault::usage,
                 .message = "the certificate or its key is missing",
                 .path = certificate ? key_file : certificate_file,
                 .side = Side::local,
                 .remedy =
                     "restore it, or remove the other too: both are then made anew, and "
                     "clients will see a changed key"};
}

Result<void> ensure_certificate(const std::string& certificate_file, const std::string& key_file) {
    const auto stands = has_certificate(certificate_file, key_file);
    if (!stands) return stands.error();
    if (*stands) return {};
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') host = {"localhost"};
    if (auto made = io::make_certificate(certificate_file, key_file, host.data()); !made) {
        return made.error();
    }
    io::log_info("made a key and a certificate: " + certificate_file);
    return {};
}

namespace {

// Servers that share a state directory, or start at once, have numbers of their own: where its file
// system has locks, and nobody sits on this one.
void lock_a_moment(int directory) {
    constexpr int kTries = 100;
    constexpr std::chrono::milliseconds kPause{20};
    for (int i = 0; i < kTries; ++i) {
        if (::flock(directory, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
        std::this_thread::sleep_for(kPause);
    }
}

std::string starts_file(const std::string& directory) {
    return directory + "/starts";
}

Result<std::uint64_t> starts_so_far(const std::string& file) {
    bool missing = false;
    const auto text = io::read_small_file(file, kStartsBytes, &missing);
    if (missing) return std::uint64_t{0};
    if (!text) return text.error();
    const auto number = session::parse_number(text->substr(0, text->find('\n')));
    if (number && *number < kMaxStarts) return *number;
    return Error{.fault = Fault::usage,
                 .message = "the count of starts is damaged",
                 .path = file,
                 .side = Side::local,
                 .remedy =
                     "write a number above all before into it, or remove it together "
                     "with the server's key"};
}

}  // namespace

Result<void> check_state_directory(const std::string& directory) {
    if (::access(directory.c_str(), R_OK | W_OK | X_OK) != 0 && errno != ENOENT)
        return errno_error(Fault::usage, "cannot use the state directory", directory, errno);
    const auto starts = starts_so_far(starts_file(directory));
    if (!starts) return starts.error();
    return {};
}

Result<std::uint64_t> first_transfer_number(const std::string& directory) {
    const std::string file = starts_file(directory);
    const io::Descriptor shared(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (shared) lock_a_moment(shared.get());
    const auto before = starts_so_far(file);
    if (!before) return before.error();
    const std::uint64_t starts = *before + 1;
    if (auto written = replace_file(file, std::to_string(starts) + "\n", directory); !written) {
        return written.error();
    }
    return starts << 32;
}

}  // namespace lambda::server

#include "client/home/home.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>

#include "common/io/file/replace_file.h"

namespace lambda::client {
namespace {

// The specification: a value that is no absolute path is to be ignored.
std::string base_directory(const char* variable, const char* otherwise) {
    const char* value = std::getenv(variable);
    if (value != nullptr && value[0] == '/') return std::string(value) + "/lambda-ftp";
    return home_directory() + otherwise + "/lambda-ftp";
}

// For a pipe or a device: nothing in it has a place.
Result<void> put_all(int fd, std::string_view content, const std::string& path) {
    while (!content.empty()) {
        const ssize_t written = ::write(fd, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno_error(Fault::file, "cannot write", path, errno);
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

// What a user names stays readable to whom it was, and to nobody else: only root gives a file to
// another user, and others to none but their own groups.
Result<void> keep_mode(int file, const struct stat& former, const std::string& path) {
    mode_t mode = former.st_mode & 0777;
    if (::fchown(file, former.st_uid, former.st_gid) != 0 &&
        ::fchown(file, static_cast<uid_t>(-1), former.st_gid) != 0)
        mode &= ~static_cast<mode_t>(S_IRWXG);
    if (::fchmod(file, mode) != 0) return errno_error(Fault::file, "cannot write", path, errno);
    return {};
}

}  // namespace

std::optional<Account> own_account() {
    std::string buffer(64 * 1024, '\0');
    passwd entry{};
    passwd* found = nullptr;
    ::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found);
    if (found == nullptr) return std::nullopt;
    return Account{.name = found->pw_name, .home = found->pw_dir};
}

std::string home_directory() {
    if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return home;
    const auto account = own_account();
    return account ? account->home : "/";
}

std::string config_directory() {
    return base_directory("XDG_CONFIG_HOME", "/.config");
}
std::string state_directory() {
    return base_directory("XDG_STATE_HOME", "/.local/state");
}

std::string host_name() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

Result<void> make_directories(const std::string& directory) {
    for (std::size_t at = 1; at != std::string::npos;) {
        at = directory.find('/', at);
        const std::string part = directory.substr(0, at);
        if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && errno != EISDIR) {
            return errno_error(Fault::file, "cannot make the directory", part, errno);
        }
        if (at != std::string::npos) ++at;
    }
    return {};
}

OutputPlace output_place(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return {path, true};
    if (!S_ISREG(status.st_mode)) return {path, false};
    const std::unique_ptr<char, decltype(&std::free)> behind(::realpath(path.c_str(), nullptr),
                                                             &std::free);
    return {behind ? behind.get() : path, true};
}

Result<io::Descriptor> open_output(const std::string& path) {
    io::Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!file) return errno_error(Fault::file, "cannot write", path, errno);
    return file;
}

Result<void> write_output(const std::string& path, std::string_view content, mode_t mode) {
    const OutputPlace place = output_place(path);
    if (place.replaced) {
        struct stat former {};
        const bool stood = ::stat(place.path.c_str(), &former) == 0;
        const auto keep = [&](int fresh) -> Result<void> {
            if (!stood) return {};
            return keep_mode(fresh, former, place.path);
        };
        return io::replace_file(place.path, std::as_bytes(std::span(content)), stood ? 0600 : mode,
                                keep);
    }
    const auto file = open_output(place.path);
    return file ? put_all(file->get(), content, path) : Result<void>(file.error());
}

}  // namespace lambda::client

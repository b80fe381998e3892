#include "client/home/known_hosts.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>

#include "client/home/home.h"
#include "client/home/trimmed.h"
#include "common/base/ascii.h"
#include "common/io/file/root.h"
#include "common/io/file/small_file.h"

namespace lambda::client {
namespace {

// Some 15,000 servers.
constexpr std::size_t kFileLimit = 1 << 20;

// What a line has behind the key of a server, if it is of that server.
std::optional<std::string_view> behind(std::string_view line, std::string_view key) {
    line = trimmed(line);
    if (lower_case(line.substr(0, key.size())) != key) return std::nullopt;
    line.remove_prefix(key.size());
    const bool other_port = !line.empty() && line.front() >= '0' && line.front() <= '9';
    return other_port ? std::nullopt : std::optional(line);
}

Result<std::string> read(const std::string& file) {
    bool missing = false;
    auto content = io::read_small_file(file, kFileLimit, &missing);
    if (!content && missing) return std::string();
    if (!content) {
        Error error = content.error();
        error.fault = Fault::session;
        return error;
    }
    return content;
}

// In the content of `file`; as KnownHosts::find().
Result<std::optional<io::Fingerprint>> pinned(std::string_view content, const std::string& file,
                                              const Server& server) {
    const std::string key = server.known_hosts_key();
    for (int number = 1; !content.empty(); ++number) {
        const std::string_view line = content.substr(0, content.find('\n'));
        content.remove_prefix(std::min(line.size() + 1, content.size()));
        const auto said = behind(line, key);
        if (!said) continue;
        const std::string_view pin = trimmed(*said);
        if (pin.size() < said->size() && is_fingerprint(pin))
            return std::optional<io::Fingerprint>(pin);
        return Error{.fault = Fault::session,
                     .message = "line " + std::to_string(number) + " is damaged, so the key of " +
                                server.endpoint() + " cannot be checked",
                     .path = file,
                     .side = Side::local,
                     .remedy = "remove that line and trust the server anew"};
    }
    return std::optional<io::Fingerprint>();
}

Error not_kept(Error error) {
    error.fault = Fault::session;
    error.message = "the server's key cannot be kept: " + error.message;
    error.remedy = "mend it, or name another place by HOME or XDG_CONFIG_HOME";
    return error;
}

}  // namespace

bool is_fingerprint(std::string_view text) {
    constexpr std::string_view kPrefix = "SHA256:";
    constexpr std::size_t kDigits = 43;  // 32 bytes in base64 without padding
    return text.starts_with(kPrefix) && text.size() == kPrefix.size() + kDigits &&
           std::all_of(text.begin() + kPrefix.size(), text.end(), [](unsigned char c) {
               return std::isalnum(c) != 0 || c == '+' || c == '/';
           });
}

KnownHosts KnownHosts::of_user() {
    return KnownHosts(config_directory() + "/known_hosts");
}

Result<std::optional<io::Fingerprint>> KnownHosts::find(const Server& server) const {
    const auto content = read(file_);
    return content ? pinned(*content, file_, server)
                   : Result<std::optional<io::Fingerprint>>(content.error());
}

Result<io::Fingerprint> KnownHosts::add(const Server& server,
                                        const io::Fingerprint& fingerprint) const {
    const std::string directory = file_.substr(0, file_.rfind('/'));
    if (auto made = make_directories(directory); !made) return not_kept(made.error());
    const io::Descriptor lock(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock || ::flock(lock.get(), LOCK_EX) != 0) {
        return errno_error(Fault::session, "cannot lock", directory, errno);
    }
    auto content = read(file_);
    if (!content) return content.error();
    const auto known = pinned(*content, file_, server);
    if (!known) return known.error();
    if (*known) return **known;
    if (!content->empty() && content->back() != '\n') *content += '\n';
    *content += server.known_hosts_key() + " " + fingerprint + "\n";
    if (auto written = write_output(file_, *content, 0600); !written)
        return not_kept(written.error());
    return fingerprint;
}

}  // namespace lambda::client

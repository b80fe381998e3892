#include "common/io/file/partial_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>

#include "common/io/file/attributes.h"
#include "common/io/file/partial_name.h"
#include "common/io/log.h"

namespace lambda::io {
namespace {

constexpr std::int64_t kLeftAlone = std::chrono::nanoseconds(std::chrono::minutes(2)).count();

void warn_once(const std::string& path, int error_number) {
    static std::once_flag once;
    std::call_once(once, [&] {
        log_warning("the file system of " + path + " has no locks (" + std::strerror(error_number) +
                    "): a file that is cut there begins anew, and one whose writer died is taken "
                    "for written for two minutes more; mount it with locks (Lustre: -o flock, "
                    "NFSv3: with lockd)");
    });
}

// Any file that was made there just now, and is gone at once.
Descriptor make_probe(int directory) {
    Descriptor file(::openat(directory, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
    const std::string name = partial_name(std::string("time\0there", 10));
    for (int tries = 0; !file && tries < 2; ++tries) {
        file = Descriptor(
            ::openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        ::unlinkat(directory, name.c_str(), 0);
    }
    return file;
}

}  // namespace

PartialLock lock_partial(int file, const std::string& path) {
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) return PartialLock::held;
    if (errno == EWOULDBLOCK) return PartialLock::another;
    if (errno != ENOSYS && errno != EOPNOTSUPP && errno != ENOLCK) return PartialLock::failed;
    warn_once(path, errno);
    return PartialLock::none;
}

bool left_alone(int directory, int file) {
    const auto now = time_there(directory);
    struct stat status {};
    return now && ::fstat(file, &status) == 0 && *now - nanoseconds_of(status.st_ctim) > kLeftAlone;
}

std::optional<std::int64_t> time_there(int directory) {
    const Descriptor probe = make_probe(directory);
    struct stat status {};
    if (!probe || ::fstat(probe.get(), &status) != 0) return std::nullopt;
    return nanoseconds_of(status.st_ctim);
}

}  // namespace lambda::io

#include "client/replicate/fleet_mark.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>

#include "common/io/file/replace_file.h"
#include "common/io/file/root.h"
#include "common/io/file/small_file.h"
#include "common/session/facts.h"

namespace lambda::client::replicate {
namespace {

constexpr std::size_t kMostDigits = 20;

std::string file_of(const std::string& directory, const FleetMark& mark) {
    return directory + "/.lambda-fleet-" + mark.fleet;
}

// 0: none that can be read.
std::uint64_t listing_in(const std::string& file) {
    const auto content = io::read_small_file(file, kMostDigits);
    return content ? session::parse_number(*content).value_or(0) : 0;
}

// What changes in the directory is nothing that it should be known by.
class KeptTime {
  public:
    explicit KeptTime(const std::string& directory)
        : directory_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        kept_ = directory_ && ::fstat(directory_.get(), &status_) == 0;
    }
    ~KeptTime() {
        // UTIME_NOW: as in io's attributes.cpp.
        const timespec times[] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW}, status_.st_mtim};
        if (kept_) ::futimens(directory_.get(), times);  // best effort: the next run mends it
    }
    KeptTime(const KeptTime&) = delete;
    KeptTime& operator=(const KeptTime&) = delete;

  private:
    io::Descriptor directory_;
    struct stat status_ {};
    bool kept_ = false;
};

}  // namespace

Result<void> leave_mark(const std::string& directory, const FleetMark& mark) {
    std::error_code problem;
    std::filesystem::create_directories(directory, problem);
    if (problem)
        return errno_error(Fault::file, "cannot make the directory", directory, problem.value());
    const std::string file = file_of(directory, mark);
    if (listing_in(file) >= static_cast<std::uint64_t>(mark.listing)) return {};
    const KeptTime kept(directory);
    const std::string content = std::to_string(mark.listing);
    return io::replace_file(file, std::as_bytes(std::span(content)), 0666);
}

Result<void> see_mark(const std::string& directory, const FleetMark& mark) {
    const std::string file = file_of(directory, mark);
    if (listing_in(file) == static_cast<std::uint64_t>(mark.listing)) return {};
    return Error{.fault = Fault::session,
                 .message =
                     "does not seem to be the directory that the mover saw who listed it, "
                     "since its mark " +
                     std::filesystem::path(file).filename().string() + " is not there",
                 .path = directory,
                 .side = Side::network,
                 .remedy = "mount the same file system there on each host of the fleet"};
}

void remove_mark(const std::string& directory, const FleetMark& mark) {
    const std::string file = file_of(directory, mark);
    if (listing_in(file) != static_cast<std::uint64_t>(mark.listing)) return;
    const KeptTime kept(directory);
    ::unlink(file.c_str());
}

}  // namespace lambda::client::replicate

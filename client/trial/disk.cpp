#include "client/trial/disk.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "client/waiting.h"
#include "common/base/hex.h"
#include "common/io/cipher/random.h"
#include "common/io/disk/disk.h"
#include "common/io/file/open_file.h"
#include "common/io/file/partial_name.h"
#include "common/io/reactor.h"
#include "common/transfer/digest.h"

namespace lambda::client {
namespace {

constexpr std::size_t kPiece = ports::kDiskPieceBytes;
constexpr std::uint64_t kRing = 32 * MiB;  // as many blocks as a sender reads ahead
constexpr Duration kLongestSleep = std::chrono::seconds(1);

constexpr const char* kCannot = "cannot make a file for the trial";

// Found out by writing, all else on this machine would stand without room meanwhile.
Result<void> check_room(const std::string& directory, std::uint64_t size) {
    struct statvfs disk {};
    if (::statvfs(directory.c_str(), &disk) != 0)
        return errno_error(Fault::file, kCannot, directory, errno);
    if (disk.f_bavail < size / disk.f_frsize)
        return errno_error(Fault::file, kCannot, directory, ENOSPC);
    return {};
}

Result<void> fill(int fd, const std::string& path, std::uint64_t size) {
    std::vector<std::byte> block(MiB);
    io::fill_random(block);
    for (std::uint64_t at = 0; at < size;) {
        if (interrupted()) return interruption_error();
        // Another block than the one before, for disks that look for what they have already.
        io::fill_random(std::span(block).first(64));
        const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(MiB, size - at));
        const ssize_t written = ::write(fd, block.data(), wanted);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return errno_error(Fault::file, kCannot, path, errno);
        at += static_cast<std::uint64_t>(written);
    }
    if (::fsync(fd) != 0) return errno_error(Fault::file, kCannot, path, errno);
    // The disk is to be read, where the page cache would be (io/page_cache.h).
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return {};
}

// All of a file, piece after piece, as many at once as there are slots.
class Reading {
  public:
    Reading(ports::Disk& disk, std::uint64_t size) : disk_(disk), size_(size) {
        for (std::uint32_t slot = 0; slot < disk.slot_count(); ++slot) free_.push_back(slot);
    }
    void handle(const ports::DiskEvent& event) {
        if (event.error) error_ = event.error;
        if (event.tag == kOpen) {
            file_ = event.file;
            open_ = !event.error;
            return;
        }
        free_.push_back(static_cast<std::uint32_t>(event.tag));
        done_ += event.bytes;
    }
    void issue() {
        while (open_ && next_ < size_ && !free_.empty()) {
            const std::uint64_t bytes = std::min<std::uint64_t>(kPiece, size_ - next_);
            if (!disk_.read(free_.back(), file_, next_, free_.back(), 0, bytes)) return;
            free_.pop_back();
            next_ += bytes;
        }
    }
    bool ended() const { return done_ >= size_ || error_; }
    const std::optional<Error>& error() const { return error_; }
    std::uint64_t done() const { return done_; }
    static constexpr ports::DiskTag kOpen = UINT64_MAX;

  private:
    ports::Disk& disk_;
    std::uint64_t size_, next_ = 0, done_ = 0;
    std::vector<std::uint32_t> free_;
    ports::DiskFile file_ = 0;
    bool open_ = false;
    std::optional<Error> error_;
};

}  // namespace

std::string random_name() {
    std::array<std::byte, 8> bytes{};
    io::fill_random(bytes);
    return to_hex(bytes);
}

Result<TrialFile> TrialFile::name(const std::string& directory, std::uint64_t size) {
    if (const auto room = check_room(directory, size); !room) return room.error();
    std::error_code failed;
    const auto absolute = std::filesystem::absolute(directory, failed);
    if (failed) return errno_error(Fault::file, "cannot be reached", directory, failed.value());
    return TrialFile((absolute / (std::string(kOwnName) + random_name())).string());
}

Result<TrialFile> TrialFile::make(const std::string& directory, std::uint64_t size) {
    auto named = name(directory, size);
    if (!named) return named.error();
    const io::Descriptor fd(
        ::open(named->path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd) return errno_error(Fault::file, kCannot, named->path(), errno);
    if (const auto filled = fill(fd.get(), named->path(), size); !filled) return filled.error();
    return named;
}

TrialFile& TrialFile::operator=(TrialFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
}

TrialFile::~TrialFile() {
    if (path_.empty()) return;
    const std::size_t leaf = path_.rfind('/') + 1;
    const std::string partial = path_.substr(0, leaf) + io::partial_name(path_.substr(leaf));
    for (const std::string& each : {path_, partial, io::journal_name(partial)})
        ::unlink(each.c_str());
}

Result<Measures> read_alone(const std::string& path, std::uint64_t size, bool allow_uring) {
    auto reactor = io::Reactor::make();
    if (!reactor) return reactor.error();
    auto made =
        io::make_disk({.memory_bytes = kRing, .block_bytes = 1 * MiB, .allow_uring = allow_uring},
                      io::Root::machine(), **reactor);
    if (!made) return made.error();
    ports::Disk& disk = **made;
    Reading reading(disk, size);
    const Time began = now();
    disk.open_source(Reading::kOpen, {.path = path}, transfer::kLeafBytes);
    while (!reading.ended()) {
        if (interrupted()) return interruption_error();
        for (const ports::DiskEvent& event : disk.poll()) reading.handle(event);
        reading.issue();
        disk.submit();
        if (!reading.ended()) (*reactor)->wait(now() + kLongestSleep);
    }
    if (reading.error()) return *reading.error();
    Measures run{
        .bytes = reading.done(), .seconds = seconds(now() - began), .rates = {}, .evidence = {}};
    run.gbit_per_s = 8e-9 * static_cast<double>(run.bytes) / std::max(run.seconds, 1e-9);
    run.mean_mbit = 1e3 * run.gbit_per_s;
    return run;
}

}  // namespace lambda::client

#include "common/verify/checksum.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "common/io/file/next_data.h"
#include "common/io/file/read_full.h"
#include "common/io/process.h"

namespace lambda::verify {
namespace {

Error failed(const ChecksumJob& job, std::string message, std::string remedy = {},
             Fault fault = Fault::file) {
    return Error{.fault = fault,
                 .message = std::move(message),
                 .path = job.path,
                 .side = Side::local,
                 .remedy = std::move(remedy)};
}

Error changed(const ChecksumJob& job) {
    return failed(job, "the file changed while it was read", "try again when nobody writes to it");
}

// Fills `into` from `offset` on.
Result<void> read_all(const ChecksumJob& job, ByteSpan into, std::uint64_t offset) {
    const io::FullRead read = io::read_full(job.fd, into, offset);
    if (read.error_number != 0)
        return errno_error(Fault::file, "cannot read", job.path, read.error_number);
    if (read.length < into.size()) return changed(job);
    return {};
}

// Readers take pieces in turn, digest them side by side, and join them in order: each waits with
// its piece until all before it are in, so that one piece a reader is all that is held.
class Readers {
  public:
    Readers(const ChecksumJob& job, std::uint64_t length, std::unique_ptr<Hash> hash)
        : job_(job), length_(length), hash_(std::move(hash)) {}

    Result<std::string> run() {
        const std::uint64_t pieces = (length_ + Hash::kPieceBytes - 1) / Hash::kPieceBytes;
        const std::uint64_t most =
            std::min<std::uint64_t>({kMostReaders, pieces, std::thread::hardware_concurrency()});
        std::vector<std::thread> threads;
        threads.reserve(kMostReaders);
        while (threads.size() + 1 < most) {
            auto thread = io::start_thread([this] { read(); });
            if (!thread) break;  // those that there are read all of it
            threads.push_back(*std::move(thread));
        }
        read();
        for (std::thread& thread : threads) thread.join();
        if (error_) return *error_;
        return hash_->finish();
    }

  private:
    // A reader's own.
    struct Piece {
        std::vector<std::byte> bytes;
        Hash::Part part{};
        bool hole = false;
        Range data{0, 0};  // what lies before its end was looked at
    };

    void read() {
        try {
            read_pieces();
        } catch (const std::bad_alloc&) {
            const std::lock_guard lock(mutex_);
            if (!error_) error_ = io::no_memory("cannot read " + job_.path);
            turn_.notify_all();
        }
    }

    void read_pieces() {
        Piece piece;
        for (std::uint64_t at = next(); at < length_; at = next()) {
            const auto got = take(piece, at);
            std::unique_lock lock(mutex_);
            if (!got && !error_) error_ = got.error();
            turn_.wait(lock, [&] { return error_.has_value() || joined_ == at; });
            if (error_) return turn_.notify_all();
            hash_->add(piece.part, piece.bytes);
            joined_ += piece.bytes.size();
            turn_.notify_all();
        }
    }

    std::uint64_t next() { return next_.fetch_add(Hash::kPieceBytes); }

    // Behind the end of a file that was cut short all is hole.
    bool reaches(std::uint64_t end) const {
        struct stat status {};
        return ::fstat(job_.fd, &status) == 0 && static_cast<std::uint64_t>(status.st_size) >= end;
    }

    // One in a hole is neither read nor, behind another of its length, digested.
    Result<void> take(Piece& piece, std::uint64_t at) {
        if (job_.stopped()) return failed(job_, "the checksum was stopped", {}, Fault::cut);
        const std::uint64_t first = job_.offset + at;
        const std::uint64_t bytes = std::min(length_ - at, Hash::kPieceBytes);
        if (first >= piece.data.last)
            piece.data = io::next_data(job_.fd, first, job_.offset + length_);
        const bool hole = piece.data.first >= first + bytes;
        if (hole && !reaches(first + bytes)) return changed(job_);
        const bool known = hole && piece.hole && piece.bytes.size() == bytes;
        piece.hole = hole;
        if (!known) {
            piece.bytes.resize(bytes);
            if (hole) {
                std::fill(piece.bytes.begin(), piece.bytes.end(), std::byte{0});
            } else if (auto got = read_all(job_, piece.bytes, first); !got) {
                return got;
            }
            piece.part = hash_->prepare(piece.bytes);
        }
        if (job_.bytes_read != nullptr) *job_.bytes_read += bytes;
        return {};
    }

    const ChecksumJob& job_;
    const std::uint64_t length_;
    std::atomic<std::uint64_t> next_{0};
    std::mutex mutex_;  // of what follows
    std::condition_variable turn_;
    const std::unique_ptr<Hash> hash_;  // prepare() alone without the mutex
    std::uint64_t joined_ = 0;
    std::optional<Error> error_;
};

}  // namespace

Result<std::string> checksum(const ChecksumJob& job) {
    struct stat before {};
    struct stat after {};
    if (::fstat(job.fd, &before) != 0) {
        return errno_error(Fault::file, "cannot look at", job.path, errno);
    }
    if (!S_ISREG(before.st_mode)) {
        return failed(job, "is no regular file",
                      "`sync --checksum --dry-run` tells whether two trees are alike");
    }
    const auto size = static_cast<std::uint64_t>(before.st_size);
    if (job.offset > size || job.length.value_or(0) > size - job.offset) {
        return failed(job, "the range ends behind the file's end", {}, Fault::usage);
    }
    const std::uint64_t length = job.length.value_or(size - job.offset);
    auto hash = Hash::make(job.algorithm, length);
    if (!hash) return hash.error();
    auto digits = Readers(job, length, *std::move(hash)).run();
    if (!digits) return digits;
    const bool same = ::fstat(job.fd, &after) == 0 && after.st_size == before.st_size &&
                      after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
                      after.st_mtim.tv_nsec == before.st_mtim.tv_nsec;
    if (!same) return changed(job);
    return digits;
}

}  // namespace lambda::verify

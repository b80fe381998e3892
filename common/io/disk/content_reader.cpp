#include "common/io/disk/content_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/io/file/attributes.h"
#include "common/io/file/file_error.h"
#include "common/io/file/next_data.h"
#include "common/io/file/read_full.h"
#include "common/io/file/target_name.h"

namespace lambda::io {
namespace {

constexpr unsigned kThreads = 2;
constexpr std::size_t kMostJobs = 65536;
// Digested in a moment, before it is seen that nobody wants them any more.
constexpr std::uint64_t kPiecesOfHole = 1 << 20;

std::string text_of(const ports::ContentReader::Place& place) {
    const auto* source = std::get_if<ports::SourceFile>(&place);
    return source != nullptr ? source->path : std::get<ports::TargetName>(place).text();
}

bool same_content(const struct stat& before, const struct stat& now) {
    return before.st_size == now.st_size &&
           nanoseconds_of(before.st_mtim) == nanoseconds_of(now.st_mtim);
}

// How far whole pieces from `at` on are hole, some at a time.
std::uint64_t hole_end(std::uint64_t at, std::uint64_t data, std::uint64_t size,
                       std::uint64_t grain) {
    if (data >= size) return std::min(size, at + kPiecesOfHole * grain);
    return data <= at ? at : std::min(at + (data - at) / grain * grain, at + kPiecesOfHole * grain);
}

}  // namespace

Result<std::unique_ptr<ContentReader>> ContentReader::make(Root root, Reactor& reactor) {
    auto threads = Workers::make(kThreads, kMostJobs, [&reactor] { reactor.lose_work(); });
    if (!threads) return threads.error();
    return std::unique_ptr<ContentReader>(
        new ContentReader(std::move(root), reactor, *std::move(threads)));
}

ContentReader::ContentReader(Root root, Reactor& reactor, std::unique_ptr<Workers> threads)
    : root_(std::move(root)), reactor_(reactor), threads_(std::move(threads)) {}

ContentReader::~ContentReader() {
    stopping_ = true;
}

void ContentReader::read(std::uint64_t tag, Place place, std::size_t grain, Take take) {
    threads_->post([this, tag, place = std::move(place), grain, take = std::move(take)] {
        done(tag, read_all(place, grain, take));
    });
}

void ContentReader::try_open(std::uint64_t tag, Place place) {
    threads_->post([this, tag, place = std::move(place)] { done(tag, read_first(place)); });
}

void ContentReader::done(std::uint64_t tag, const Result<std::uint64_t>& size) {
    ports::ContentRead result{.tag = tag};
    if (size) {
        result.size = *size;
    } else {
        result.error = size.error();
    }
    if (done_.put(std::move(result))) reactor_.wake();
}

std::vector<ports::ContentRead> ContentReader::poll() {
    done_.take(taken_);
    return std::move(taken_);
}

Result<Descriptor> ContentReader::open(const Place& place) const {
    constexpr int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
    if (const auto* source = std::get_if<ports::SourceFile>(&place))
        return sources_.open(*source, flags);
    const auto& target = std::get<ports::TargetName>(place);
    if (target.below.empty()) return root_.open(target.base, flags);
    const auto where = place_of(root_, target, false);
    if (!where) return where.error();
    Descriptor opened(open_standing(where->directory.get(), where->leaf));
    if (!opened) return file_error("cannot open", target.text(), errno);
    return opened;
}

Result<std::uint64_t> ContentReader::read_first(const Place& place) const {
    const auto opened = open(place);
    if (!opened) return opened.error();
    std::byte first{};
    const ssize_t got = ::pread(opened->get(), &first, 1, 0);
    if (got < 0) return file_error("cannot read", text_of(place), errno);
    return static_cast<std::uint64_t>(got);
}

Result<std::uint64_t> ContentReader::read_all(const Place& place, std::size_t grain,
                                              const Take& take) const {
    const std::string path = text_of(place);
    const auto opened = open(place);
    if (!opened) return opened.error();
    const int fd = opened->get();
    struct stat before {};
    if (::fstat(fd, &before) != 0) return file_error("cannot look at", path, errno);
    if (!S_ISREG(before.st_mode)) return file_error("cannot read", path, EINVAL);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    const auto size = static_cast<std::uint64_t>(before.st_size);
    std::vector<std::byte> piece(std::min<std::uint64_t>(grain, size));
    Range data{0, 0};  // what lies before its end was looked at
    for (std::uint64_t at = 0; at < size && !stopping_;) {
        if (at >= data.last) data = next_data(fd, at, size);
        if (const std::uint64_t end = hole_end(at, data.first, size, grain); end > at) {
            take({at, end}, {});
            at = end;
            continue;
        }
        const auto some = ByteSpan(piece).first(std::min<std::uint64_t>(grain, size - at));
        const FullRead read = read_full(fd, some, at);
        if (read.error_number != 0) return file_error("cannot read", path, read.error_number);
        if (read.length < some.size()) break;
        take({at, at + some.size()}, some);
        at += some.size();
    }
    struct stat now {};
    if (::fstat(fd, &now) != 0) return file_error("cannot look at", path, errno);
    if (same_content(before, now) && !stopping_) return size;
    return Error{.fault = Fault::file,
                 .message = "the file changed while it was read",
                 .path = path,
                 .side = Side::local,
                 .remedy = "run the transfer again when nobody writes it"};
}

}  // namespace lambda::io

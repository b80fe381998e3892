#include "common/io/net/feedback_channel.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>  // glibc's tcp_info ends before the segments that were sent
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <vector>

#include "common/io/log.h"
#include "common/io/reactor.h"

namespace lambda::io {
namespace {

constexpr std::size_t kMostWaiting = 256 * 1024;  // the port's contract
constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::uint32_t kFewSegments = 50;  // say nothing of a path
constexpr double kWeight = 0.25;            // of the last ones

class TlsFeedbackChannel final : public ports::FeedbackChannel {
  public:
    TlsFeedbackChannel(TlsStream stream, Reactor& reactor)
        : stream_(std::move(stream)), reactor_(reactor), read_(kReadBytes) {
        const int on = 1;
        ::setsockopt(stream_.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        const int flags = ::fcntl(stream_.fd(), F_GETFL);
        LAMBDA_ASSERT(flags >= 0 && ::fcntl(stream_.fd(), F_SETFL, flags | O_NONBLOCK) == 0);
        stream_.read_ahead();
        reactor_.add(stream_.fd(), &readiness_);
    }

    ~TlsFeedbackChannel() override {
        flush();
        stream_.shutdown();
        reactor_.remove(stream_.fd());
    }

    bool send(ByteView frame) override {
        if (waiting_.size() - sent_ >= kMostWaiting) flush();
        if (waiting_.size() - sent_ >= kMostWaiting) return false;
        if (sent_ > 0) {
            waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(sent_));
            sent_ = 0;
        }
        waiting_.insert(waiting_.end(), frame.begin(), frame.end());
        flush();
        return true;
    }

    ByteView receive() override {
        flush();
        std::size_t filled = 0;
        while (readiness_.readable && !read_ended_ && filled < read_.size()) {
            std::size_t got = 0;
            const IoStatus status = stream_.read(ByteSpan(read_).subspan(filled), got);
            filled += got;
            if (status == IoStatus::want_read) readiness_.readable = false;
            if (status == IoStatus::want_write) break;  // the next turn tries again
            if (status == IoStatus::closed || status == IoStatus::failed) end(status);
        }
        return ByteView(read_).first(filled);
    }

    bool alive() const override { return !read_ended_ && !write_ended_; }

    std::optional<Carriage> carriage() override {
        tcp_info info{};
        socklen_t bytes = sizeof info;
        if (::getsockopt(stream_.fd(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return carriage_;
        const std::uint32_t segments = info.tcpi_data_segs_out - segments_;
        if (segments >= kFewSegments) {
            const double lost = static_cast<double>(info.tcpi_total_retrans - again_) / segments;
            const double before = carriage_ ? carriage_->lost : lost;
            carriage_ = {{}, before + kWeight * (lost - before)};
            segments_ = info.tcpi_data_segs_out;
            again_ = info.tcpi_total_retrans;
        }
        if (carriage_) carriage_->round_trip = std::chrono::microseconds(info.tcpi_rtt);
        return carriage_;
    }

    std::size_t backlog() override {
        int unsent = 0;
        if (::ioctl(stream_.fd(), SIOCOUTQNSD, &unsent) != 0) unsent = 0;
        return waiting_.size() - sent_ + static_cast<std::size_t>(unsent);
    }

  private:
    void flush() {
        while (readiness_.writable && !write_ended_ && sent_ < waiting_.size()) {
            std::size_t written = 0;
            const IoStatus status = stream_.write(ByteView(waiting_).subspan(sent_), written);
            sent_ += written;
            if (status == IoStatus::want_write) readiness_.writable = false;
            if (status == IoStatus::want_read) break;
            if (status == IoStatus::closed || status == IoStatus::failed) {
                write_ended_ = true;
            }
        }
        if (sent_ == waiting_.size() || write_ended_) {
            waiting_.clear();
            sent_ = 0;
        }
    }

    void end(IoStatus status) {
        read_ended_ = true;
        if (log_enabled(LogLevel::debug)) {
            log_debug(status == IoStatus::closed ? "feedback connection: closed by the peer"
                                                 : "feedback connection: " + stream_.error());
        }
    }

    TlsStream stream_;
    Reactor& reactor_;
    Reactor::Readiness readiness_;
    std::vector<std::byte> waiting_;  // [sent_, end): not yet taken by the socket
    std::size_t sent_ = 0;
    std::vector<std::byte> read_;
    bool read_ended_ = false;
    bool write_ended_ = false;
    std::optional<Carriage> carriage_;
    std::uint32_t segments_ = 0, again_ = 0;  // sent, and sent again, when it was reckoned last
};

}  // namespace

std::unique_ptr<ports::FeedbackChannel> make_feedback_channel(TlsStream stream, Reactor& reactor) {
    return std::make_unique<TlsFeedbackChannel>(std::move(stream), reactor);
}

}  // namespace lambda::io

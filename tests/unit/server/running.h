// A whole server in this process, on loopback, and a client that speaks to it over real TCP and
// TLS.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "common/io/tls/tls.h"
#include "common/session/reply.h"
#include "config/endpoint.h"
#include "server/password_hash.h"
#include "server/server.h"
#include "tests/unit/server/temporary.h"

namespace lambda::server {

constexpr int kPatienceMs = 20'000;

class Running {
  public:
    explicit Running(config::ServerSettings settings = {}) {
        std::signal(SIGPIPE, SIG_IGN);
        settings.state = scratch / "state";
        settings.root = scratch.path();
        settings.listen = {*config::parse_endpoint("127.0.0.1:0"),
                           *config::parse_endpoint("[::1]:0")};
        auto made = Server::make(settings, accounts);
        REQUIRE(made.ok());
        server = std::move(*made);
        thread = std::thread([this] { server->run(); });
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() {
        server->stop();
        thread.join();
    }

    // The processor's time that its loop has taken.
    std::chrono::nanoseconds worked() {
        clockid_t clock{};
        timespec time{};
        REQUIRE(::pthread_getcpuclockid(thread.native_handle(), &clock) == 0);
        REQUIRE(::clock_gettime(clock, &time) == 0);
        return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
    }

    TemporaryDirectory scratch;
    const Accounts accounts{
        {"alice", {.password = *hash_password("secret"), .root = "", .read_only = false}},
        {"bob", {.password = *hash_password("secret"), .root = "", .read_only = false}}};
    std::unique_ptr<Server> server;
    std::thread thread;
};

inline int connected(const Address& address) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(address.port);
    std::memcpy(&six.sin6_addr, address.ip.data(), 16);
    const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(fd >= 0);
    REQUIRE(::connect(fd, reinterpret_cast<const sockaddr*>(&six), sizeof six) == 0);
    REQUIRE(::fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    return fd;
}

inline bool wait_for(int fd, short events) {
    pollfd socket{.fd = fd, .events = events, .revents = 0};
    return ::poll(&socket, 1, kPatienceMs) == 1;
}

inline const io::TlsContext& tls_context() {
    static const auto context = [] {
        io::ClientTrust trust;
        trust.accept_unknown = true;
        return io::TlsContext::client(trust);
    }();
    REQUIRE(context.ok());
    return *context;
}

// A client that hides nothing: bytes out, replies in.
class Client {
  public:
    explicit Client(const Running& running, std::size_t which = 0) {
        tls_context();  // may take longer than a server waits for a first byte
        fd_ = connected(running.server->addresses().at(which));
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client() {
        if (!stream_) ::close(fd_);
    }

    void send(std::string_view bytes) {
        while (!bytes.empty()) {
            std::size_t sent = 0;
            if (stream_) {
                const io::IoStatus status = stream_->write(std::as_bytes(std::span(bytes)), sent);
                REQUIRE((status == io::IoStatus::ok || status == io::IoStatus::want_write));
            } else {
                const ssize_t done = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
                REQUIRE((done > 0 || errno == EAGAIN));
                sent = done > 0 ? static_cast<std::size_t>(done) : 0;
            }
            bytes.remove_prefix(sent);
            if (sent == 0) REQUIRE(wait_for(fd_, POLLOUT));
        }
    }

    // The next reply; nothing where the connection has ended.
    std::optional<session::Reply> hear() {
        for (;;) {
            if (const auto reply = *parser_.next()) return *reply;
            char byte = 0;
            std::size_t got = 0;
            const io::IoStatus status = receive(byte, got);
            if (status == io::IoStatus::ok) {
                parser_.feed({&byte, 1});
            } else if (status == io::IoStatus::want_read) {
                REQUIRE(wait_for(fd_, POLLIN));
            } else {
                return std::nullopt;
            }
        }
    }
    // Within TLS, and fast: drops what is said up to these words. False: it ended before.
    bool skip_to(std::string_view words) {
        std::string heard;
        for (;;) {
            const std::size_t kept = heard.size();
            heard.resize(kept + 64 * 1024);
            std::size_t got = 0;
            const io::IoStatus status = stream_->read(
                std::as_writable_bytes(std::span(heard.data() + kept, heard.size() - kept)), got);
            heard.resize(kept + got);
            if (heard.find(words) != std::string::npos) return true;
            if (status == io::IoStatus::want_read) {
                REQUIRE(wait_for(fd_, POLLIN));
            } else if (status != io::IoStatus::ok) {
                return false;
            }
            heard.erase(0, heard.size() - std::min(heard.size(), words.size()));
        }
    }
    // Whether nothing of a reply has come; else some of it is lost.
    bool left_waiting() {
        char byte = 0;
        std::size_t got = 0;
        return receive(byte, got) == io::IoStatus::want_read;
    }
    int code() {
        const auto reply = hear();
        return reply ? reply->code : 0;
    }
    int code(std::string_view line) {
        send(std::string(line) + "\r\n");
        return code();
    }

    void start_tls() {
        stream_ = io::TlsStream::client(tls_context(), fd_, "localhost");
        for (;;) {
            const io::IoStatus status = stream_->handshake();
            if (status == io::IoStatus::ok) return;
            const bool reads = status == io::IoStatus::want_read;
            REQUIRE((reads || status == io::IoStatus::want_write));
            REQUIRE(wait_for(fd_, reads ? POLLIN : POLLOUT));
        }
    }
    // Says a line again and again, as fast as it is taken, and drops what is said; until the server
    // ends the connection, or for `most` seconds. `taken`: after each time.
    void flood(const std::string& line, double most, const std::function<void()>& taken) {
        std::string words;
        while (words.size() < 100'000) words += line;
        std::vector<char> heard(64 * 1024);
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(most);
        for (bool open = true; open && std::chrono::steady_clock::now() < end;) {
            std::size_t done = 0;
            if (stream_) {
                const auto said = stream_->write(std::as_bytes(std::span(words)), done);
                const auto read = stream_->read(std::as_writable_bytes(std::span(heard)), done);
                open = said != io::IoStatus::failed && read != io::IoStatus::failed &&
                       read != io::IoStatus::closed;
            } else {
                const ssize_t said = ::send(fd_, words.data(), words.size(), MSG_NOSIGNAL);
                const ssize_t got = ::recv(fd_, heard.data(), heard.size(), 0);
                open = (said > 0 || errno == EAGAIN) && got != 0;
            }
            taken();
        }
    }
    // Says a line again and again and reads nothing, until the server stands still.
    void stuff(const std::string& line, Running& running) {
        std::string words;
        while (words.size() < 100'000) words += line;
        constexpr int kSmall = 8192;  // so that room tells of what the server reads
        for (const int buffer : {SO_SNDBUF, SO_RCVBUF})
            REQUIRE(::setsockopt(fd_, SOL_SOCKET, buffer, &kSmall, sizeof kSmall) == 0);
        pollfd socket{.fd = fd_, .events = POLLOUT, .revents = 0};
        for (;;) {
            std::size_t done = 0;
            const auto said = stream_->write(std::as_bytes(std::span(words)), done);
            const auto before = running.worked();
            if (said == io::IoStatus::want_write && ::poll(&socket, 1, 1000) == 0 &&
                running.worked() == before)
                return;
            REQUIRE((said == io::IoStatus::ok || said == io::IoStatus::want_write));
        }
    }
    // Reads nothing. False: the connection still stands after a while.
    bool cut_off() { return wait_for(fd_, 0); }
    Client& secure() {
        send("AUTH TLS\r\n");
        REQUIRE(code() == 220);
        REQUIRE(code() == 234);
        start_tls();
        return *this;
    }
    Client& log_in(const std::string& user = "alice") {
        secure();
        REQUIRE(code("USER " + user) == 331);
        REQUIRE(code("PASS secret") == 230);
        return *this;
    }

  private:
    io::IoStatus receive(char& byte, std::size_t& got) {
        if (stream_) return stream_->read(std::as_writable_bytes(std::span(&byte, 1)), got);
        const ssize_t count = ::recv(fd_, &byte, 1, 0);
        if (count == 1) return io::IoStatus::ok;
        return count < 0 && errno == EAGAIN ? io::IoStatus::want_read : io::IoStatus::closed;
    }

    int fd_ = -1;
    std::optional<io::TlsStream> stream_;
    session::ReplyParser parser_;
};

inline double seconds_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace lambda::server

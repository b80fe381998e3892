// UDT 4 from memory to memory, for tools/bench.
//
//   udt-transfer serve PORT BUFFER                         one transfer, then the end
//   udt-transfer put|get HOST PORT BUFFER BYTES SECONDS    data to or from the server
//
// Moves BYTES, or what arrives in SECONDS from the first byte on, and the client prints
// "N bytes in T s", as the receiver counted. BUFFER: bytes of UDT's buffers and flow window at both
// ends; at least twice the path's product of rate and round trip. Exit code 1 where it failed.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <udt/udt.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMss = 1500;
constexpr int kUdpBuffer =
    4 << 20;  // what Linux allows where net.core.rmem_max was raised as for us
constexpr int kStep = 1 << 20;
constexpr int kLookMs = 50;  // how often a receiver that gets nothing looks at the time

struct Request {
    std::uint64_t bytes;
    double seconds;
    bool to_server;
};

struct Received {
    std::uint64_t bytes;
    double seconds;
};

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "udt-transfer: %s: %s\n", what, UDT::getlasterror().getErrorMessage());
    std::_Exit(1);
}

template <typename T>
void set(UDTSOCKET socket, UDT::SOCKOPT option, T value) {
    if (UDT::setsockopt(socket, 0, option, &value, sizeof value) == UDT::ERROR) fail("setsockopt");
}

UDTSOCKET make_socket(int buffer) {
    const UDTSOCKET socket = UDT::socket(AF_INET, SOCK_STREAM, 0);
    set(socket, UDT_MSS, kMss);
    set(socket, UDT_FC, buffer / (kMss - 44));  // before the buffers, which may not be larger
    set(socket, UDT_SNDBUF, buffer);
    set(socket, UDT_RCVBUF, buffer);
    set(socket, UDP_SNDBUF, kUdpBuffer);
    set(socket, UDP_RCVBUF, kUdpBuffer);
    return socket;
}

sockaddr_in address_of(const char* host, const char* port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        std::fprintf(stderr, "udt-transfer: not an IPv4 address: %s\n", host);
        std::_Exit(2);
    }
    return address;
}

// Whole values that both ends know.
template <typename T>
void send_value(UDTSOCKET socket, const T& value) {
    const char* bytes = reinterpret_cast<const char*>(&value);
    for (int done = 0; done < static_cast<int>(sizeof value);) {
        const int sent = UDT::send(socket, bytes + done, static_cast<int>(sizeof value) - done, 0);
        if (sent == UDT::ERROR) fail("send");
        done += sent;
    }
}

template <typename T>
T receive_value(UDTSOCKET socket) {
    T value{};
    char* bytes = reinterpret_cast<char*>(&value);
    for (int done = 0; done < static_cast<int>(sizeof value);) {
        const int got = UDT::recv(socket, bytes + done, static_cast<int>(sizeof value) - done, 0);
        if (got == UDT::ERROR) fail("recv");
        done += got;
    }
    return value;
}

// Ends early, without a word, where the receiver has gone.
void send_data(UDTSOCKET socket, std::uint64_t bytes) {
    const std::vector<char> piece(kStep, 'x');
    while (bytes > 0) {
        const int step = static_cast<int>(std::min<std::uint64_t>(bytes, kStep));
        const int sent = UDT::send(socket, piece.data(), step, 0);
        if (sent == UDT::ERROR) return;
        bytes -= static_cast<std::uint64_t>(sent);
    }
}

Received receive_data(UDTSOCKET socket, const Request& request) {
    set(socket, UDT_RCVTIMEO, kLookMs);
    std::vector<char> piece(kStep);
    Received received{0, 0};
    Clock::time_point begin{};
    while (received.bytes < request.bytes && received.seconds < request.seconds) {
        const int got = UDT::recv(socket, piece.data(), kStep, 0);
        if (got == UDT::ERROR && UDT::getlasterror_code() != CUDTException::ETIMEOUT) fail("recv");
        const auto now = Clock::now();
        if (got > 0) {
            if (received.bytes == 0) begin = now;
            received.bytes += static_cast<std::uint64_t>(got);
        }
        if (received.bytes > 0) {
            received.seconds = std::chrono::duration<double>(now - begin).count();
        }
    }
    return received;
}

void serve(const char* port, int buffer) {
    const UDTSOCKET listener = make_socket(buffer);
    const sockaddr_in address = address_of("0.0.0.0", port);
    if (UDT::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
        UDT::ERROR) {
        fail("bind");
    }
    if (UDT::listen(listener, 1) == UDT::ERROR) fail("listen");
    std::puts("ready");
    std::fflush(stdout);
    sockaddr_in peer{};
    int length = sizeof peer;
    const UDTSOCKET socket = UDT::accept(listener, reinterpret_cast<sockaddr*>(&peer), &length);
    if (socket == UDT::INVALID_SOCK) fail("accept");
    const auto request = receive_value<Request>(socket);
    if (request.to_server) {
        send_value(socket, receive_data(socket, request));
    } else {
        send_data(socket, request.bytes);
    }
    // The last bytes leave while the client still reads; it ends first.
    while (UDT::getsockstate(socket) == CONNECTED) {
        std::this_thread::sleep_for(std::chrono::milliseconds(kLookMs));
    }
}

void transfer(const char* host, const char* port, int buffer, const Request& request) {
    const UDTSOCKET socket = make_socket(buffer);
    const sockaddr_in address = address_of(host, port);
    if (UDT::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
        UDT::ERROR) {
        fail("connect");
    }
    send_value(socket, request);
    if (request.to_server) {
        std::thread(send_data, socket, request.bytes).detach();
    }
    const Received received =
        request.to_server ? receive_value<Received>(socket) : receive_data(socket, request);
    std::printf("%llu bytes in %.6f s\n", static_cast<unsigned long long>(received.bytes),
                received.seconds);
    std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
    const std::string verb = count > 1 ? words[1] : "";
    if (verb == "serve" && count == 4) {
        serve(words[2], std::atoi(words[3]));
    } else if ((verb == "put" || verb == "get") && count == 7) {
        transfer(words[2], words[3], std::atoi(words[4]),
                 {std::strtoull(words[5], nullptr, 10), std::atof(words[6]), verb == "put"});
    } else {
        std::fputs(
            "usage: udt-transfer serve PORT BUFFER\n"
            "       udt-transfer put|get HOST PORT BUFFER BYTES SECONDS\n",
            stderr);
        return 2;
    }
    std::_Exit(0);  // UDT would linger over data that nobody wants any more
}

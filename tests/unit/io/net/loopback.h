// What the tests of this room share: a folder of their own, and a connected pair of TCP sockets.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "common/base/assert.h"
#include "common/io/file/root.h"

namespace lambda::io::testing {

class Folder {
  public:
    explicit Folder(const std::string& under = "/tmp") {
        std::string name = under + "/lambda-io-XXXXXX";
        LAMBDA_ASSERT(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::string& path() const { return path_; }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

inline void write_file(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
}

inline std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// A lease for writing, as a file server takes it; given up a moment after somebody opens the file.
class Lease {
  public:
    explicit Lease(const std::string& path) : file_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
        ::signal(SIGIO, SIG_IGN);
        LAMBDA_ASSERT(::fcntl(file_.get(), F_SETLEASE, F_WRLCK) == 0);
        holder_ = std::jthread([this](const std::stop_token& stop) {
            while (!stop.stop_requested() && ::fcntl(file_.get(), F_GETLEASE) == F_WRLCK)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            ::fcntl(file_.get(), F_SETLEASE, F_UNLCK);
        });
    }

  private:
    Descriptor file_;
    std::jthread holder_;
};

// Non-blocking, over 127.0.0.1.
inline std::pair<int, int> tcp_pair() {
    const Descriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    LAMBDA_ASSERT(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length) == 0);
    LAMBDA_ASSERT(::listen(listener.get(), 1) == 0);
    LAMBDA_ASSERT(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length) ==
                  0);
    const int client = ::socket(AF_INET, SOCK_STREAM, 0);
    LAMBDA_ASSERT(::connect(client, reinterpret_cast<sockaddr*>(&address), length) == 0);
    const int server = ::accept(listener.get(), nullptr, nullptr);
    LAMBDA_ASSERT(server >= 0);
    for (const int fd : {client, server}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
    return {client, server};
}

}  // namespace lambda::io::testing

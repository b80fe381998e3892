#include "common/dialling/resolve.h"

#include <netdb.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/io/net/socket_address.h"
#include "common/io/process.h"

namespace lambda::dialling {
namespace {

constexpr std::size_t kMostAddresses = 16;
constexpr int kMostLookups = 32;

struct Found {
    struct Free {
        void operator()(addrinfo* found) const { ::freeaddrinfo(found); }
    };
    int error = 0;  // EAI_...
    int system_error = 0;
    std::unique_ptr<addrinfo, Free> list;
};

Found look_up(const HostPort& server, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    Found found;
    found.error =
        ::getaddrinfo(server.host.c_str(), std::to_string(server.port).c_str(), &hints, &list);
    found.system_error = errno;
    if (found.error == 0) found.list.reset(list);
    return found;
}

// What the asking thread and the one that waits have in common.
struct Lookup {
    Lookup(HostPort of, io::Descriptor event) : server(std::move(of)), ended(std::move(event)) {
        ++running;
    }
    ~Lookup() { --running; }

    static inline std::atomic<int> running{0};
    const HostPort server;
    const io::Descriptor ended;  // an eventfd
    std::mutex mutex;
    Found found;

    void run() {
        Found answer = look_up(server, AI_ADDRCONFIG);
        const std::lock_guard lock(mutex);
        found = std::move(answer);
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(ended.get(), &one, sizeof one);
    }
};

Result<std::shared_ptr<Lookup>> begin(const HostPort& server) {
    if (Lookup::running >= kMostLookups) {
        return no_connection(server, "too many names wait for the resolver",
                             "check the name servers of this machine");
    }
    io::Descriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event) return errno_error(Fault::session, "cannot make an eventfd", {}, errno);
    const auto lookup = std::make_shared<Lookup>(server, std::move(event));
    auto thread = io::start_thread([lookup] { lookup->run(); });
    if (!thread) return thread.error();
    thread->detach();
    return lookup;
}

}  // namespace

Result<std::vector<Address>> resolve(const HostPort& server, Time deadline,
                                     const Interruption& interruption) {
    Found found = look_up(server, AI_NUMERICHOST);
    if (found.error == EAI_NONAME) {
        const auto lookup = begin(server);
        if (!lookup) return lookup.error();
        switch (wait_for((*lookup)->ended.get(), POLLIN, deadline, interruption)) {
            case Wait::interrupted:
                return interruption_error();
            case Wait::late:
                return no_connection(server, "the resolver did not find its address in time",
                                     "check the name servers of this machine");
            case Wait::ready:
                break;
        }
        const std::lock_guard lock((*lookup)->mutex);
        found = std::move((*lookup)->found);
    }
    if (found.error != 0) {
        return no_connection(server,
                             found.error == EAI_SYSTEM ? std::strerror(found.system_error)
                                                       : gai_strerror(found.error),
                             "check the host's name");
    }
    std::vector<Address> addresses;
    for (const addrinfo* at = found.list.get(); at != nullptr && addresses.size() < kMostAddresses;
         at = at->ai_next) {
        sockaddr_storage storage{};
        std::memcpy(&storage, at->ai_addr, std::min<std::size_t>(at->ai_addrlen, sizeof storage));
        addresses.push_back(io::address_of(storage));
    }
    return addresses;
}

}  // namespace lambda::dialling

// The stripes' feedback connections (docs/protocol.md §4): TCP, TLS with the key of the control
// session, JOIN, 220 and 200, all of them side by side in one poll loop. One thread.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/place.h"
#include "common/base/address.h"
#include "common/base/result.h"
#include "common/base/time.h"
#include "common/io/root.h"
#include "common/io/tls.h"
#include "common/session/reply.h"

namespace lambda::client {

class Joins {
  public:
    struct Target {
        Address peer;      // where the control session goes
        std::string host;  // its name, for TLS
        std::string token;
    };
    struct Handlers {
        // Nothing behind the 200 has been read.
        std::function<void(std::uint16_t stripe, std::uint32_t epoch, io::TlsStream)> joined;
        // Fault::session: the server refuses this stripe or showed another key, repeating cannot
        // mend it; Fault::cut: the network.
        std::function<void(std::uint16_t stripe, std::uint32_t epoch, Error)> failed;
    };
    Joins(Target target, io::TlsContext context, Handlers handlers);

    void begin(std::uint16_t stripe, std::uint32_t epoch);
    // Moves every connection on as far as it goes without waiting.
    void advance();
    void add_to(std::vector<pollfd>& sockets) const;
    Time deadline() const;  // of the attempt that ends first; kNever without any

  private:
    enum class Phase { connecting, handshaking, asking, listening };
    struct Attempt {
        std::uint16_t stripe = 0;
        std::uint32_t epoch = 0;
        Time deadline{};
        Phase phase = Phase::connecting;
        io::Descriptor socket;                // while connecting
        std::optional<io::TlsStream> stream;  // from then on
        short events = POLLOUT;               // what it waits for
        std::string request;                  // what of JOIN is still to be sent
        session::ReplyParser parser;
        bool greeted = false;  // 220 has come

        int fd() const { return stream ? stream->fd() : socket.get(); }
    };
    enum class Step { on, waits, joined };
    Result<Step> step(Attempt& attempt);
    Result<Step> connect(Attempt& attempt);
    Result<Step> ask(Attempt& attempt);
    Result<Step> listen(Attempt& attempt);
    // True while it goes on.
    bool advance(Attempt& attempt);

    Target target_;
    io::TlsContext context_;
    Handlers handlers_;
    std::vector<std::unique_ptr<Attempt>> attempts_;
};

}  // namespace lambda::client

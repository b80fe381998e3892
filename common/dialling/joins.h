// The stripes' feedback connections (docs/protocol.md §4): TCP, TLS with the key of the control
// session, JOIN, 220 and 200, all of them side by side in one poll loop. One thread.
//
// Some connect while the control session comes to stand, so that a transfer waits for their JOIN
// alone. A connection made ahead that fails is nobody's loss: another one is begun when it is due.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/address.h"
#include "common/base/result.h"
#include "common/base/time.h"
#include "common/io/file/root.h"
#include "common/io/tls/tls.h"
#include "common/session/reply.h"

namespace lambda::dialling {

class Joins {
  public:
    // No more are made ahead: a server admits so many sessions for one address (64 by default), and
    // a connection counts as one until its JOIN.
    static constexpr std::uint16_t kMostAhead = 16;

    struct Target {
        Address peer;      // where the control session goes
        std::string host;  // its name, for TLS
    };
    struct Handlers {
        // Nothing behind the 200 has been read.
        std::function<void(std::uint16_t stripe, std::uint32_t epoch, io::TlsStream)> joined;
        // Fault::session: the server refuses this stripe or showed another key, repeating cannot
        // mend it; Fault::cut: the network.
        std::function<void(Error)> failed;
    };
    // Begins the TCP connections of up to kMostAhead stripes.
    Joins(Target target, std::uint16_t ahead);

    // The server's key is known: TLS with it may begin.
    void trust(io::TlsContext context);
    // A transfer is agreed. Connections made ahead beyond its `stripes` are closed.
    void open(std::string token, std::uint16_t stripes, Handlers handlers);
    // The transfer is over: no handler is called any more.
    void close();
    // After trust() and open().
    void begin(std::uint16_t stripe, std::uint32_t epoch);
    // Moves every connection on as far as it goes without waiting.
    void advance();
    void add_to(std::vector<pollfd>& sockets) const;
    Time deadline() const;  // of the attempt that ends first; kNever without any

  private:
    enum class Phase { connecting, handshaking, asking, listening };
    struct Attempt {
        bool ahead = false;    // made ahead; may be replaced until JOIN is sent
        bool claimed = false;  // for `stripe` and `epoch`
        std::uint16_t stripe = 0;
        std::uint32_t epoch = 0;
        Time deadline{};
        Phase phase = Phase::connecting;
        io::Descriptor socket;                // while connecting
        std::optional<io::TlsStream> stream;  // from then on
        short events = POLLOUT;               // what it waits for
        std::string request;                  // what of JOIN is still to be sent
        session::ReplyParser parser;
        std::size_t heard = 0;  // bytes of the answer
        bool greeted = false;   // 220 has come

        // Made ahead, and TLS stands or may not begin yet.
        bool rests = false;
        int fd() const { return stream ? stream->fd() : socket.get(); }
    };
    enum class Step { on, waits, joined };
    Result<Step> step(Attempt& attempt);
    static Step rest(Attempt& attempt);
    Result<Step> connect(Attempt& attempt);
    Result<Step> ask(Attempt& attempt);
    Result<Step> listen(Attempt& attempt);
    // True while it goes on.
    bool advance(Attempt& attempt);
    bool failed(Attempt& attempt, const Error& error);
    Result<void> connect_anew(Attempt& attempt);
    void claim(Attempt& attempt, std::uint16_t stripe, std::uint32_t epoch);

    Target target_;
    std::optional<io::TlsContext> context_;
    std::string token_;
    Handlers handlers_;
    std::vector<std::unique_ptr<Attempt>> attempts_;
};

}  // namespace lambda::dialling

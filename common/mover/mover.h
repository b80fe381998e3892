// Puts an engine onto the machine: a thread, a disk, UDP sockets, ciphers and feedback channels for
// one transfer. Client and server both move data through this and nothing else.
//
// Thread: made and destroyed by its owner's thread; the callbacks run on the mover's thread and
// must not block; every other method may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/address.h"
#include "common/base/file_range.h"
#include "common/base/result.h"
#include "common/engine/outcome.h"
#include "common/io/file/root.h"
#include "common/io/stage/stage.h"
#include "common/io/tls/tls.h"
#include "common/session/terms.h"
#include "common/transfer/names.h"
#include "common/transfer/record.h"
#include "common/transfer/sync_plan.h"

namespace lambda::mover {

using TransferSecret = std::array<std::byte, 32>;

using engine::FileFailure;
using engine::Outcome;
using engine::Progress;
using engine::Skipped;
using engine::StripeOutcome;
using transfer::SourceName;
using transfer::Target;

struct Setup {
    session::Terms terms;        // as agreed
    TransferSecret secret{};     // exported from the control session (docs/protocol.md §5)
    std::uint64_t transfer = 0;  // id, for the log
    bool is_client = false;      // the client dials feedback connections, the server waits for them
    transfer::NamesKept keep_names = transfer::NamesKept::top;  // client: in Outcome::done
    io::Root root;                                              // names are resolved here
    std::optional<FileRange> range{};                           // sender: of each source
    std::shared_ptr<io::RangeClaim> claim{};  // receiver: what is written, in place of a file

    // Sender. At the client the names are given; at the server they arrive as WANT records.
    // Receiver at the client: the remote names to ask for.
    std::vector<SourceName> sources;
    std::vector<transfer::WantRecord> wants;
    transfer::WalkRecord walk;  // client: how the one or the other are walked
    transfer::SyncRecord plan;  // client: what is to become of what stands at the target
    std::vector<std::string> done_before{};  // client: see engine::Setup
    Target target;                           // receiver
    // What was granted, where it is less than an account's rights; see engine::Setup.
    std::vector<transfer::WantRecord> only{};
    bool may_follow = true;
    bool may_archive = true;
    std::optional<std::uint64_t> most_bytes{};
    std::optional<transfer::SyncRecord> only_plan{};
    bool keep_series = false;  // Outcome::series is wanted, and all of the other end's figures

    // The control connection's ends. A client's sockets connect to `peer` at the agreed ports.
    Address local;
    Address peer;
    std::vector<std::uint16_t> ports;  // client: the server's UDP ports
    std::uint16_t first_port = 50000;  // server: where to look for free ones
    std::uint16_t last_port = 51000;
    std::uint64_t most_ports = 1;  // server: of these; stripes share them
    std::size_t socket_buffer = 4u << 20;
    bool allow_uring = true;

    // Where terms.receipt is set: takes the lines of the account (receipt::Account), on the mover's
    // thread, which waits for it. Nothing: Outcome::receipt alone is wanted.
    std::function<void(std::string_view lines)> receipt_lines{};

    // Client: dial a connection for this stripe and hand it over with join(), or report
    // failed_dial().
    std::function<void(std::uint16_t stripe, std::uint32_t epoch)> dial;
    // The transfer ended, outcome() is final. Last call of all.
    std::function<void()> finished;
};

class Mover {
  public:
    // Binds sockets, reserves memory and starts the threads beside its own; nothing moves yet.
    // Errors: no free port, no memory; Fault::cut: no thread, which later there may be.
    static Result<std::unique_ptr<Mover>> make(Setup setup);
    ~Mover();  // stops and joins the thread

    // Server: the bound UDP ports, for the agreement.
    const std::vector<std::uint16_t>& ports() const;
    // What should be said to a user once: socket buffers too small, io_uring forbidden.
    const std::vector<std::string>& notes() const;

    Result<void> start();  // likewise
    // A feedback connection stands: TLS done, JOIN answered, nothing read behind it.
    void join(std::uint16_t stripe, std::uint32_t epoch, io::TlsStream stream);
    // Client: the dial of a stripe failed; so many while none stands end the transfer. A refusal is
    // no more than that: of an epoch that comes behind a later one it is the rule.
    void failed_dial(Error error);
    // Client: the server's last reply says that nothing is left to do.
    void peer_ended();
    // Sender: of the whole transfer from now on, whatever the law allows; 0: no limit but that.
    void set_limit(BitRate limit);
    // Ends the transfer soon, with `why` as Outcome::cut. A repeated call changes nothing.
    void stop(Error why);

    Progress progress() const;
    // Client, of a sync: what is known since the last call. To be called now and then, else the
    // transfer waits.
    std::vector<transfer::Change> take_changes();
    const Outcome& outcome() const;  // after finished()

  private:
    struct State;
    explicit Mover(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace lambda::mover

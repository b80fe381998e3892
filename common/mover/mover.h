// Puts an engine onto the machine: a thread, a disk, UDP sockets, ciphers and feedback channels for
// one transfer. Client and server both move data through this and nothing else.
//
// Thread: made and destroyed by its owner's thread; the callbacks run on the mover's thread and must
// not block; every other method may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/address.h"
#include "common/base/result.h"
#include "common/io/root.h"
#include "common/io/tls.h"
#include "common/session/terms.h"

namespace lambda::mover {

using TransferSecret = std::array<std::byte, 32>;

// A file to send: where it is read, and what it is called for the receiver (relative, '/'-separated).
struct SourceName {
    std::string path;
    std::string name;
};

// Where received files land: at `path` itself, or at path + "/" + name.
struct Target {
    std::string path;
    bool into_directory = false;
};

struct Setup {
    session::Terms terms;       // as agreed
    TransferSecret secret{};    // exported from the control session (docs/protocol.md §5)
    std::uint64_t transfer = 0; // id, for the log
    bool is_client = false;     // the client dials feedback connections, the server waits for them
    io::Root root;              // names are resolved here

    // Sender. At the client the names are given; at the server they arrive as WANT records.
    // Receiver at the client: the remote names to ask for.
    std::vector<SourceName> sources;
    std::vector<std::string> wants;
    Target target;              // receiver

    // The control connection's ends. A client's sockets connect to `peer` at the agreed ports.
    Address local;
    Address peer;
    std::vector<std::uint16_t> ports;      // client: the server's UDP ports
    std::uint16_t first_port = 50000;      // server: where to look for free ones
    std::uint16_t last_port = 51000;
    std::size_t socket_buffer = 4u << 20;
    bool allow_uring = true;

    // Client: dial a connection for this stripe and hand it over with join(), or report failed_dial().
    std::function<void(std::uint16_t stripe, std::uint32_t epoch)> dial;
    // The transfer ended, outcome() is final. Last call of all.
    std::function<void()> finished;
};

struct FileFailure {
    std::string name;
    Error error;
};

struct StripeOutcome {
    std::uint64_t bytes = 0;      // file bytes, sent or received by this stripe
    std::uint64_t packets = 0;
    std::uint64_t lost = 0;
    double rtt_ms = 0;
};

struct Outcome {
    std::uint64_t files = 0;            // done
    std::uint64_t bytes = 0;            // file bytes moved
    std::uint64_t verified = 0;         // files whose digests from both ends agreed
    double transfer_seconds = 0;        // first data packet to last byte durable
    std::uint64_t sent_packets = 0;     // data packets, this end's or as the sender told
    std::uint64_t lost_packets = 0;
    std::uint64_t retransmitted_packets = 0;
    std::uint64_t refused_packets = 0;  // arrived, but did not open or had no business here
    std::vector<StripeOutcome> stripes;
    std::vector<FileFailure> failures;  // bounded: the first 1,000; failed counts all
    std::uint64_t failed = 0;
    std::optional<Error> cut;           // the transfer as a whole ended early, and why
};

struct Progress {
    std::uint64_t bytes = 0;            // resolved at the sender, complete at the receiver
    std::uint64_t total_bytes = 0;      // of the files known so far
    std::uint64_t files_done = 0;
    std::uint64_t files_known = 0;
    std::uint64_t lost_packets = 0;
    std::uint64_t sent_packets = 0;
    double rtt_ms = 0;
    double rate_bits = 0;               // what the law allows now; 0 at a receiver
    std::string current_name;
};

class Mover {
  public:
    // Binds sockets and reserves memory; nothing runs yet. Errors: no free port, no memory.
    static Result<std::unique_ptr<Mover>> make(Setup setup);
    ~Mover();  // stops and joins the thread

    // Server: the bound UDP ports, for the agreement.
    const std::vector<std::uint16_t>& ports() const;
    // What should be said to a user once: socket buffers too small, io_uring forbidden.
    const std::vector<std::string>& notes() const;

    void start();
    // A feedback connection stands: TLS done, JOIN answered, nothing read behind it.
    void join(std::uint16_t stripe, std::uint32_t epoch, io::TlsStream stream);
    // Client: the dial of a stripe failed; a refusal that repeating cannot mend ends the transfer.
    void failed_dial(std::uint16_t stripe, std::uint32_t epoch, Error error);
    // Ends the transfer soon, with `why` as Outcome::cut. A repeated call changes nothing.
    void stop(Error why);

    Progress progress() const;
    const Outcome& outcome() const;  // after finished()

  private:
    struct State;
    explicit Mover(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace lambda::mover

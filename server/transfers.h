// The running transfers of a server: each a Mover, a token for its stripes, a share of the memory
// and of the data ports, and who wants to know its end. Loop's thread throughout.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/address.h"
#include "common/base/result.h"
#include "common/io/file/root.h"
#include "common/io/stage/stage.h"
#include "common/io/tls/tls.h"
#include "common/mover/mover.h"
#include "common/session/command.h"
#include "common/session/reply.h"
#include "common/session/terms.h"
#include "config/server_settings.h"
#include "server/budget.h"
#include "server/join_book.h"

namespace lambda::server {

// Narrower than the rights of the account: what a grant covers.
struct TransferBounds {
    std::vector<transfer::WantRecord> only;   // get: nothing else is asked for, where there are any
    bool may_follow = true;                   // get: links may be followed
    bool may_archive = true;                  // owners and extended attributes may be sent
    std::optional<std::uint64_t> most_bytes;  // of all files together
    std::optional<transfer::SyncRecord> plan;  // put: what may become of what stands there
};

// What a session asks for, once its account's rights and its target were looked at.
struct TransferRequest {
    std::string account;
    session::Offer offer;
    io::Root root;
    std::string target;           // put: the path below the root
    bool into_directory = false;  // put: how the target is understood
    TransferBounds bounds;
    std::shared_ptr<io::RangeClaim> claim;  // put of a range
    Address local, peer;                    // the control connection's ends
    // The exporter of the control session.
    std::function<Result<mover::TransferSecret>(ByteView context)> export_key;
    // On the loop's thread, once, when the transfer is over and its Mover gone.
    std::function<void(const mover::Outcome&)> ended;
};

struct OpenedTransfer {
    std::uint64_t number = 0;
    session::Agreement agreement;
};

class Transfers {
  public:
    // From any thread: runs the function on the loop's thread, soon.
    using Post = std::function<void(std::function<void()>)>;

    // `settings` must outlive it, and so must what `post` reaches outlive the last transfer.
    Transfers(const config::ServerSettings& settings, std::uint64_t first_number, Post post);

    // How many accounts there are. Where they are several, each leaves the others an eighth of the
    // places, one at least.
    void share_among(std::size_t accounts) { accounts_ = accounts; }

    // Starts a transfer, or the reply that refuses it: 501, 504, 425 or 450.
    std::variant<OpenedTransfer, session::Reply> open(TransferRequest request);

    // Ends what has an older claim of any of these bytes of the stage.
    void supersede(const std::string& stage, Range bytes, std::uint64_t fence);

    // A share of this server's means: the terms as it would agree to them, memory, and one of the
    // places. Free again when it goes. Must not outlive the Transfers.
    class Share {
      public:
        Share() = default;
        Share(Share&& other) noexcept { *this = std::move(other); }
        Share& operator=(Share&& other) noexcept;
        ~Share();
        std::uint64_t memory() const { return memory_; }
        session::Terms terms;

      private:
        friend class Transfers;
        Share(Transfers& owner, std::string account);
        Transfers* owner_ = nullptr;
        std::string account_;
        std::uint64_t memory_ = 0;
        std::uint64_t ports_ = 0;
    };
    // For a transfer that this server dials itself. Or the reply that refuses it, as open().
    std::variant<Share, session::Reply> reserve(const std::string& account,
                                                const session::Terms& wanted) {
        return take_share(account, wanted, running());
    }
    // As its end would, and tells who waits until nothing runs.
    void release(Share share);

    // The transfer that this stripe's connection may join; its epoch is then used.
    std::optional<std::uint64_t> claim(const session::JoinRequest& request) {
        return book_.claim(request);
    }
    // After claim(). Where the transfer has ended meanwhile, the stream is closed.
    void join(std::uint64_t number, const session::JoinRequest& request, io::TlsStream stream);

    // Whether a put to this target was stopped and is not over: it flushes, and holds its files.
    bool ending(const std::string& account, const std::string& target) const;
    // Runs once, when the next transfer has ended.
    void at_next_end(std::function<void()> then) { at_next_end_.push_back(std::move(then)); }

    // Nothing where the transfer has ended.
    void stop(std::uint64_t number, Error why);
    void stop_all(const Error& why);
    // Of what is sent from here, below what was agreed; 0: nothing but that.
    void set_limit(std::uint64_t number, BitRate limit);
    // The client says that nothing is left to do.
    void peer_ended(std::uint64_t number);
    mover::Progress progress(std::uint64_t number) const;
    std::size_t running() const { return shares_; }
    // At the loop's end: destroys what still runs, without a word to its sessions.
    void abandon() { transfers_.clear(); }
    // Runs when the last transfer has ended, or at once.
    void when_idle(std::function<void()> then);

  private:
    // Of a range: which, and by what lease. The claim itself is the mover's.
    struct Held {
        std::string stage;  // RangeClaim::key()
        Range bytes;
        std::uint64_t fence = 0;
    };
    struct Transfer {
        std::unique_ptr<mover::Mover> mover;
        std::string account;
        Share share;
        std::function<void(const mover::Outcome&)> ended;
        std::optional<Held> held{};
        std::string target{};  // of a put
        bool stopped = false;
    };
    // `others`: how many transfers will run beside it.
    std::variant<Share, session::Reply> take_share(const std::string& account,
                                                   const session::Terms& wanted,
                                                   std::size_t others);
    std::size_t most_of_account() const;
    void end(std::uint64_t number);
    void look_whether_idle();

    const config::ServerSettings& settings_;
    std::uint64_t next_number_;
    Post post_;
    JoinBook book_;
    Budget memory_;
    Budget ports_;
    std::size_t shares_ = 0;  // that are out
    std::size_t accounts_ = 1;
    std::map<std::string, std::size_t> running_of_;  // account; those that run none are not there
    std::function<void()> when_idle_;
    std::vector<std::function<void()>> at_next_end_;
    std::map<std::uint64_t, Transfer> transfers_;  // last: their shares count above
};

}  // namespace lambda::server

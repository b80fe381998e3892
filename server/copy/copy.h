// One copy: this server as the client of another one, with what that one granted (docs/protocol.md
// §11). A thread of its own dials and follows the mover.
//
// Made and destroyed on the loop's thread; the callbacks run on the copy's and must not block.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/base/result.h"
#include "common/base/time.h"
#include "common/dialling/transfer_loop.h"
#include "common/io/file/root.h"
#include "common/session/copy.h"
#include "common/session/copy_result.h"
#include "common/transfer/record.h"

namespace lambda::server {

struct CopyTask {
    session::CopyRequest request;  // its terms as this server allows them
    io::Root root;                 // of the account
    bool into_directory = false;   // get: how the target is understood
    transfer::WalkRecord walk;
    transfer::SyncRecord plan;
    dialling::MayDial may_dial;
    const io::TlsContext* identity = nullptr;  // this server's, which it proves itself by
    std::size_t socket_buffer = 0;
    bool allow_uring = true;
    bool tells_changes = false;     // of a sync: somebody takes them
    std::function<void()> moved;    // a second passed, or the state changed
    std::function<void()> changed;  // there are changes to take, where there were none
    std::function<void()> rests;    // it moves nothing until wakes(): its share is free
    std::function<void()> wakes;    // asks for a share, by take_share()
    std::function<void()> ended;    // result() is final; last call of all
};

class Copy final : private dialling::TransferWatch {
  public:
    // Changes that wait to be taken; then the copy waits too.
    static constexpr std::size_t kMostChanges = 1024;

    static Result<std::unique_ptr<Copy>> make(std::uint64_t number, CopyTask task);
    ~Copy() override;  // cancels, and waits for the thread

    Result<void> start();  // an error: no thread
    // Ends it soon, with `why` as CopyResult::cut. A repeated call changes nothing. Any thread.
    void cancel(Error why);
    session::CopyStatus status() const;  // any thread
    // Answers CopyTask::wakes: the terms as this server allows them now, or why it does not. Any
    // thread.
    void take_share(Result<session::Terms> terms);
    // The oldest `most` of what a sync does or would do. Any thread.
    std::vector<transfer::Change> take_changes(std::size_t most);
    const session::CopyResult& result() const { return result_; }  // after ended()

  private:
    struct Sample {
        Time at;
        std::uint64_t bytes = 0;
    };
    Copy(std::uint64_t number, CopyTask task, io::Descriptor interruption);

    // The copy's thread.
    void run();
    Result<mover::Outcome> attempt();
    Result<mover::Outcome> perform();
    Result<void> have_share();
    void pause(Duration time);
    void enter(session::CopyState state);
    void note(const std::string& text) override;
    Time next_look() const override { return next_look_; }
    void look(const mover::Progress& progress, Time now) override;
    void changed(const transfer::Change& change) override;
    void ended() override {}
    void stop_waiting();

    const std::uint64_t number_;
    CopyTask task_;
    io::Descriptor interruption_;
    std::thread thread_;
    const Time began_;
    bool rested_ = false;  // it has no share
    Time next_look_{};
    std::deque<Sample> samples_;  // of the last few seconds
    session::CopyResult result_;

    mutable std::mutex mutex_;  // of all below
    session::CopyStatus status_;
    std::optional<Error> cancelled_;
    std::optional<Result<session::Terms>> share_;  // that was asked for
    std::deque<transfer::Change> changes_;
    bool stopping_ = false;          // nobody is waited for
    std::condition_variable heard_;  // changes were taken, a share came, or it stops
};

}  // namespace lambda::server

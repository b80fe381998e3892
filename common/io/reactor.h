// Where an engine's thread waits: for descriptors that the makers of its ports register, for a
// time, for a word of another thread.
#pragma once

#include <poll.h>

#include <atomic>
#include <memory>
#include <vector>

#include "common/base/result.h"
#include "common/io/file/root.h"
#include "common/ports/clock.h"

namespace lambda::io {

// A descriptor's readiness is remembered until its owner found EAGAIN, so that an idle one costs
// no system call in a turn.
class Reactor final : public ports::Waiter {
  public:
    struct Readiness {
        bool readable = true;  // true until proven otherwise
        bool writable = true;
    };
    static Result<std::unique_ptr<Reactor>> make();
    ~Reactor() override;
    void wait(Time until) override;
    void wake() override;  // an eventfd
    // The thread that waits, of each wait() from now on: what ends it may well come before the
    // thread would sleep. While waits are that short, each begins by looking again and again.
    void set_eager(bool eager) { eager_ = eager; }
    // How long it has looked in place of sleeping: no work.
    Duration watched() const { return watched_; }
    // The thread that waits: its next wait() does not. No system call.
    void stay_awake() { awake_ = true; }
    // Any thread that works for this one: for want of memory it ended a piece of work unsaid.
    void lose_work();
    bool work_lost() const { return work_lost_; }

    // By epoll, edge-triggered: for what seldom has news, and may be one of many. `readiness` must
    // outlive the registration. remove() before closing the fd.
    void add(int fd, Readiness* readiness);
    void remove(int fd);
    // By poll, for what has news for each packet that comes and goes: the kernel tells of them only
    // while the thread sleeps. In epoll it would take two locks and touch another processor's cache
    // for each, whether anybody waits or not. Likewise; but only news of what its owner knows not
    // to be ready end a wait, so he goes on until EAGAIN, or does not wait.
    void add_busy(int fd, Readiness* readiness);
    void remove_busy(int fd);

  private:
    Reactor(Descriptor epoll, Descriptor event);
    bool look(Time until);
    void take_events();

    Descriptor epoll_;
    Descriptor event_;
    std::vector<pollfd> polled_;     // epoll_, and what is busy
    std::vector<Readiness*> ready_;  // of what is busy
    bool awake_ = false;
    bool eager_ = false;
    Duration last_wait_{}, watched_{};  // while eager
    std::atomic<bool> work_lost_ = false;
};

}  // namespace lambda::io

// The crew of a real run: a thread for each lane.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "client/replicate/crew.h"
#include "client/waiting.h"
#include "common/io/file/root.h"

namespace lambda::client::replicate {

// By the clock on the wall, here and now.
LocalTime local_time();

class Lanes final : public Crew {
  public:
    // `job.lanes` of them; both must outlive it. Errors: no eventfd.
    static Result<std::unique_ptr<Lanes>> make(const Job& job, const Carrier& carrier);
    ~Lanes() override;  // stops, and waits for the end of what is under way

    WallTime now() const override;
    LocalTime local() const override { return local_time(); }
    bool interrupted() const override;
    std::size_t idle() const override { return lanes_.size() - busy_; }
    std::size_t busy() const override { return busy_; }
    void start(Work work) override;
    void stop() override;
    void stop(Work::Kind kind) override;
    void stop(std::int64_t lease) override;
    std::vector<Done> take() override;
    std::string doing() const override;
    void wait(WallTime until) override;

  private:
    // Its thread takes `work` and leaves `done`; `mutex` guards what both touch.
    struct Lane {
        io::Descriptor interruption;  // an eventfd
        mutable std::mutex mutex;
        std::condition_variable more;
        std::optional<Work> work;
        std::optional<Done> done;
        mover::Progress progress;
        bool ending = false;
        bool busy = false;  // the conductor's: from start() to take()
        bool stopped = false;
        std::int64_t lease = 0;
        std::uint32_t site = 0;
        Work::Kind kind = Work::Kind::carry;
        std::thread thread;
    };
    static void interrupt(const Lane& lane);
    static void stop(Lane& lane);
    Lanes(const Job& job, const Carrier& carrier, io::Descriptor event);
    void run(Lane& lane);
    Done perform(Lane& lane, Work work) const;

    const Job& job_;
    const Carrier& carrier_;
    const io::Descriptor event_;  // a lane is done
    const WallTime began_;
    const Time began_here_;  // likewise, by the clock that nobody sets
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::size_t busy_ = 0;
};

}  // namespace lambda::client::replicate

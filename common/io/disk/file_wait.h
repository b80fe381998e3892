// Tries what opens files until it gets them: where the process, or the machine, is short of
// descriptors, what others have in hand gives them back. That is waited for, for five seconds, and
// then no more before somebody got some. Blocks; one worker thread's.
#pragma once

#include <chrono>
#include <thread>

#include "common/base/result.h"
#include "common/io/process.h"

namespace lambda::io {

class FileWait {
  public:
    template <typename Attempt>
    auto operator()(Attempt attempt) {
        auto outcome = attempt();
        for (int i = 0; i < kTries && is_short(outcome) && !in_vain_; ++i) {
            std::this_thread::sleep_for(kPause);
            outcome = attempt();
        }
        if (outcome || is_short(outcome)) in_vain_ = !outcome;
        return outcome;
    }

  private:
    static constexpr std::chrono::milliseconds kPause{5};
    static constexpr int kTries = 1000;

    template <typename T>
    static bool is_short(const Result<T>& outcome) {
        return !outcome && is_want_of_files(outcome.error());
    }
    bool in_vain_ = false;
};

}  // namespace lambda::io

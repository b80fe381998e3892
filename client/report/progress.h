// How far a transfer is: one live line on a terminal, else a plain line every few seconds.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "client/report/report.h"
#include "common/base/time.h"
#include "common/dialling/transfer_loop.h"
#include "common/mover/mover.h"

namespace lambda::client {

// For people; of what a peer says, and of a path that stands, it may be any number from 0 on.
std::string time_left(double seconds);

class ProgressLine final : public dialling::TransferWatch {
  public:
    // `changes`: they are told.
    ProgressLine(Report& report, Time now, bool changes = true);

    void note(const std::string& text) override { report_.note(text); }
    Time next_look() const override { return next_; }
    void look(const mover::Progress& progress, Time now) override;
    void changed(const transfer::Change& change) override {
        if (changes_)
            report_.change(transfer::to_string(change.what), change.name, change.directory,
                           change.size);
    }
    void ended() override { report_.live(""); }

  private:
    struct Sample {
        Time at;
        std::uint64_t bytes = 0, sent = 0, lost = 0;
    };
    std::string line(const mover::Progress& progress) const;

    Report& report_;
    const bool changes_;
    Duration interval_;
    Time next_;
    Time line_at_;                // the next plain line
    std::deque<Sample> samples_;  // of the last few seconds
    std::string told_;            // why nothing moved, as was told last
};

}  // namespace lambda::client

// What limits a transfer's rate now: --rate-limit, a rate or a timetable of local time, and the
// file that --rate-file names, which holds one or the other and counts in their place as long as it
// can be read. Who looks at it again and again lets a user change a running transfer by writing to
// it.
#pragma once

#include <sys/stat.h>

#include <string>

#include "common/base/rate_timetable.h"
#include "common/base/result.h"
#include "config/client_settings.h"

namespace lambda::client {

class RateSchedule {
  public:
    RateSchedule(const config::ClientSettings& settings, std::string rate_file);

    // Reads the file if it is another than at the last call. An Error (Fault::usage, or
    // Fault::file): what it says cannot be followed, and what held before still does; each fault is
    // told once.
    Result<void> look();
    // By the file as it was read last, at this minute of the day. 0: no limit.
    BitRate limit(int minute) const;
    // Whether limit() may change at all.
    bool moves() const { return !file_.empty() || !hours_.stretches().empty(); }

  private:
    std::string file_;
    BitRate rate_;         // 0: none
    RateTimetable hours_;  // counts besides
    struct stat seen_ {};  // of the file
    std::string told_;     // the fault that was told last
};

}  // namespace lambda::client

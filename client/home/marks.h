// What the client keeps from one command to the next, a few lines for each of what they are known
// by: one file each, `HASH` in a directory of the user's state. One thread; processes side by side
// see whole marks or none.
#pragma once

#include <chrono>
#include <cstddef>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "common/base/result.h"

namespace lambda::client {

class Marks {
  public:
    static constexpr std::size_t kMost = 256;  // the oldest go
    static constexpr std::size_t kMostText = 256;
    static constexpr std::time_t kLongest =
        std::chrono::seconds(std::chrono::days(30)).count();  // then it says nothing

    // `title`: what they are, and the version of what they say.
    Marks(std::string directory, std::string title)
        : directory_(std::move(directory)), title_(std::move(title)) {}

    // What is torn, of another or no file is no mark. `now`: of the system's clock.
    std::optional<std::string> find(const std::string& known_by, std::time_t now) const;
    Result<void> keep(const std::string& known_by, const std::string& text, std::time_t now) const;
    // As if it had been kept just now.
    void renew(const std::string& known_by) const;
    void drop(const std::string& known_by) const;

  private:
    std::string file_of(const std::string& known_by) const;
    std::string head_of(const std::string& known_by) const;
    void remove_old(std::time_t now) const;

    std::string directory_, title_;
};

}  // namespace lambda::client

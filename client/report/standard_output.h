// Standard output, a line at a time. A reader who does not read holds the program up as long as its
// user likes: once he interrupts, what is not taken within a second is lost. One thread.
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>

namespace lambda::client {

class StandardOutput {
  public:
    // Both: 0, or the errno of the first failure, since which nothing is written. EINTR:
    // interrupted, and not read.
    int put(std::string_view line);
    int flush();

  private:
    const bool terminal_ = ::isatty(STDOUT_FILENO) == 1;
    std::string waiting_;
    int failed_ = 0;
};

}  // namespace lambda::client

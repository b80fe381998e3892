// The commands of a run and the process that looks after them: the first of a process namespace of
// its own, so that with it every process ends that a command left behind; and it ends with the lab,
// also when that is killed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/time.h"
#include "common/io/file/root.h"
#include "tools/lab/host.h"

namespace lambda::lab {

struct Background {
    std::size_t host = 0;
    std::string shell;   // by /bin/sh -c
    std::string output;  // the files that its two outputs go to
    std::string errors;
};

// The main command waits until a background command of this host has written `text` to its output;
// or, of ":5201", until a process there listens on that TCP port.
struct Ready {
    std::size_t host = 0;
    std::string text;
};

struct Household {
    std::vector<Background> background;
    std::vector<Ready> ready;
    std::size_t main_host = 0;
    std::vector<std::string> main;  // not by a shell
    std::vector<std::pair<std::string, std::string>> environment;
    Duration patience = std::chrono::seconds(30);  // for `ready`
    Duration grace = std::chrono::seconds(5);      // between SIGTERM and the end
};

// What the keeper tells the lab, a byte each. Then its end of the pipe closes.
constexpr char kMainBegan = 'b', kMainEnded = 'e';

struct Keeper {
    pid_t pid = 0;
    io::Descriptor news;  // non-blocking
};

// The keeper's exit code: the main command's, 128 + N where signal N ended it, 127 where there is
// no such command, kExitUnable where one could not be started or did not get ready. SIGTERM, SIGINT
// and SIGHUP to the keeper reach the main command.
constexpr int kExitUnable = 3;
Result<Keeper> start_household(const Household& household, const std::vector<Host>& hosts);

}  // namespace lambda::lab

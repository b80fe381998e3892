#include "client/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

extern char** environ;

namespace lambda::client {
namespace {

std::vector<std::string> environment_with(const Variables& variables) {
    std::vector<std::string> all;
    for (char** each = environ; *each != nullptr; ++each) all.emplace_back(*each);
    for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
    return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

}  // namespace

Result<pid_t> spawn(std::vector<std::string> words, int output, const Variables& variables) {
    std::vector<std::string> environment = environment_with(variables);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t all;
    sigfillset(&all);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    sigset_t none;
    sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    pid_t child = -1;
    const int problem = ::posix_spawnp(&child, words.front().c_str(), &actions, &attributes,
                                       pointers_to(words).data(), pointers_to(environment).data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (problem != 0) return errno_error(Fault::file, "cannot run", words.front(), problem);
    return child;
}

// A descriptor of the process would wake us, but there may be none: too many files, or a sandbox.
ChildEnd await_end(pid_t child, Time deadline) {
    constexpr Duration kLongestPause = std::chrono::milliseconds(50);
    Duration pause = std::chrono::milliseconds(1);
    for (ChildEnd end{.how = Wait::ready};;) {
        const pid_t ended = ::waitpid(child, &end.status, end.how == Wait::ready ? WNOHANG : 0);
        if (ended != 0 && !(ended < 0 && errno == EINTR)) return end;
        const Time until = std::min(deadline, now() + pause);
        if (wait_for(-1, 0, until) == Wait::interrupted) end.how = Wait::interrupted;
        if (end.how == Wait::ready && now() >= deadline) end.how = Wait::late;
        if (end.how != Wait::ready) ::kill(-child, SIGKILL);
        pause = std::min(2 * pause, kLongestPause);
    }
}

}  // namespace lambda::client

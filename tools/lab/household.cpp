#include "tools/lab/household.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <utility>

#include "common/io/clock.h"

namespace lambda::lab {
namespace {

constexpr int kNoSuchCommand = 127;
constexpr Duration kLook = std::chrono::milliseconds(5);  // between looks for `ready`

Error refused(const std::string& what) {
    return errno_error(Fault::unsupported, what, {}, errno);
}

void say(const std::string& text) {
    std::fprintf(stderr, "lambda-lab: %s\n", text.c_str());
}

sigset_t signals_of_the_keeper() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
    return set;
}

int exit_code(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// In the keeper and what it starts.
class KeeperProcess {
  public:
    KeeperProcess(const Household& household, const std::vector<Host>& hosts, int news)
        : household_(household), hosts_(hosts), news_(news) {}

    int live() {
        mount_processes();
        for (const Background& command : household_.background) {
            running_.push_back(start_background(command));
            if (running_.back() < 0) return end_without("'" + command.shell + "'");
        }
        for (const Ready& ready : household_.ready) {
            if (!await(ready)) return end(stopped_by_ > 0 ? 128 + stopped_by_ : kExitUnable);
        }
        main_ = start_main();
        if (main_ < 0) return end_without("the command");
        tell(kMainBegan);
        while (main_ > 0) step(std::chrono::seconds(1));
        tell(kMainEnded);
        return end(main_code_);
    }

  private:
    // /proc with the processes of the namespace. Where "/" is no mount, as in a plain chroot, only
    // that of /proc can be made our own.
    static void mount_processes() {
        if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 &&
            ::mount(nullptr, "/proc", nullptr, MS_PRIVATE, nullptr) != 0) {
            return;  // what is mounted now would show outside; the old /proc serves
        }
        ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
    }

    // In a child: becomes a command of that host.
    void prepare(std::size_t host) const {
        const sigset_t set = signals_of_the_keeper();
        sigprocmask(SIG_UNBLOCK, &set, nullptr);
        std::signal(SIGPIPE, SIG_DFL);
        if (::setns(hosts_[host].network.get(), CLONE_NEWNET) != 0) {
            say(refused("cannot enter the host").sentence());
            ::_exit(kExitUnable);
        }
        for (const auto& [name, value] : household_.environment) {
            ::setenv(name.c_str(), value.c_str(), 1);
        }
        ::setenv("LAB_NAME", hosts_[host].spec.name.c_str(), 1);
    }

    static void redirect(int fd, const std::string& path, int flags) {
        const int file = ::open(path.c_str(), flags | O_CLOEXEC);
        if (file < 0 || ::dup2(file, fd) < 0) {
            say(errno_error(Fault::file, "cannot open", path, errno).sentence());
            ::_exit(kExitUnable);
        }
    }

    // -1: refused, by errno. A process group of its own, so that SIGTERM at the end reaches what
    // its shell started.
    pid_t start_background(const Background& command) const {
        const pid_t child = ::fork();
        if (child > 0) ::setpgid(child, child);
        if (child != 0) return child;
        ::setpgid(0, 0);
        prepare(command.host);
        redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
        redirect(STDOUT_FILENO, command.output, O_WRONLY | O_APPEND);
        redirect(STDERR_FILENO, command.errors, O_WRONLY | O_APPEND);
        ::execl("/bin/sh", "sh", "-c", command.shell.c_str(), nullptr);
        ::_exit(kNoSuchCommand);
    }

    pid_t start_main() const {
        const pid_t child = ::fork();
        if (child != 0) return child;
        prepare(household_.main_host);
        std::vector<char*> arguments;
        for (const std::string& word : household_.main) {
            arguments.push_back(const_cast<char*>(word.c_str()));
        }
        arguments.push_back(nullptr);
        ::execvp(arguments[0], arguments.data());
        say(refused("cannot run " + household_.main[0]).sentence());
        ::_exit(kNoSuchCommand);
    }

    // Among the sockets of that host, as proc_net_tcp(5) lists them.
    bool listening(const Ready& ready) const {
        if (::setns(hosts_[ready.host].network.get(), CLONE_NEWNET) != 0) return false;
        const unsigned wanted =
            static_cast<unsigned>(std::strtoul(ready.text.c_str() + 1, nullptr, 10));
        for (const char* const table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
            std::ifstream file(table);
            for (std::string line; std::getline(file, line);) {
                constexpr unsigned kListen = 0x0a;  // TCP_LISTEN
                unsigned port = 0, state = 0;
                if (std::sscanf(line.c_str(), "%*u: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x", &port,
                                &state) == 2 &&
                    port == wanted && state == kListen) {
                    return true;
                }
            }
        }
        return false;
    }

    bool is_ready(const Ready& ready) const {
        const bool port = ready.text.size() > 1 && ready.text[0] == ':' &&
                          ready.text.find_first_not_of("0123456789", 1) == std::string::npos;
        return port ? listening(ready) : written(ready);
    }

    bool written(const Ready& ready) const {
        for (const Background& command : household_.background) {
            if (command.host != ready.host) continue;
            std::ifstream file(command.output, std::ios::binary);
            const std::string text{std::istreambuf_iterator<char>(file), {}};
            if (text.find(ready.text) != std::string::npos) return true;
        }
        return false;
    }

    bool await(const Ready& ready) {
        const std::string& host = hosts_[ready.host].spec.name;
        const Time deadline = io::Clock().now() + household_.patience;
        while (!is_ready(ready)) {
            step(kLook);
            if (stopped_by_ > 0) {
                say("told to stop before " + host + " was ready");
                return false;
            }
            if (io::Clock().now() > deadline || !background_runs()) {
                say(host + " was not ready: " + ready.text);
                return false;
            }
        }
        return true;
    }

    // Waits for a signal and does what it asks.
    void step(Duration longest) {
        const sigset_t set = signals_of_the_keeper();
        const timespec patience{.tv_sec = longest / std::chrono::seconds(1),
                                .tv_nsec = (longest % std::chrono::seconds(1)).count()};
        siginfo_t info{};
        const int number = ::sigtimedwait(&set, &info, &patience);
        if (number > 0 && number != SIGCHLD) {
            stopped_by_ = number;
            // From a terminal the main command has it already.
            if (main_ > 0 && info.si_code != SI_KERNEL) ::kill(main_, number);
        }
        reap();
    }

    void reap() {
        int status = 0;
        for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
            if (pid == main_) {
                main_ = 0;
                main_code_ = exit_code(status);
            }
            for (std::size_t i = 0; i < running_.size(); ++i) {
                if (running_[i] != pid) continue;
                running_[i] = 0;
                if (!ending_) {
                    say(hosts_[household_.background[i].host].spec.name + ": '" +
                        household_.background[i].shell + "' ended with " +
                        std::to_string(exit_code(status)));
                }
            }
        }
    }

    bool background_runs() const {
        for (const pid_t pid : running_) {
            if (pid > 0) return true;
        }
        return false;
    }

    // Of what could not be started, by errno.
    int end_without(const std::string& what) {
        say(refused("cannot start " + what).sentence());
        return end(kExitUnable);
    }

    int end(int code) {
        ending_ = true;
        for (const pid_t pid : running_) {
            if (pid > 0) ::kill(-pid, SIGTERM);
        }
        const Time deadline = io::Clock().now() + household_.grace;
        while (background_runs() && io::Clock().now() < deadline) {
            step(std::chrono::milliseconds(100));
        }
        return code;
    }

    void tell(char news) const { static_cast<void>(!::write(news_, &news, 1)); }

    const Household& household_;
    const std::vector<Host>& hosts_;
    const int news_;
    std::vector<pid_t> running_;
    pid_t main_ = 0;
    int main_code_ = 0;
    int stopped_by_ = 0;  // the signal
    bool ending_ = false;
};

// Empty, before anybody looks for `ready` in what an earlier run left there.
Result<void> make_outputs(const Household& household) {
    for (const Background& command : household.background) {
        for (const std::string* name : {&command.output, &command.errors}) {
            const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
            if (!io::Descriptor(::open(name->c_str(), flags, 0644))) {
                return errno_error(Fault::unsupported, "cannot write", *name, errno);
            }
        }
    }
    return {};
}

}  // namespace

Result<Keeper> start_household(const Household& household, const std::vector<Host>& hosts) {
    if (auto made = make_outputs(household); !made) return made.error();
    int news[2], life[2];
    if (::pipe2(news, O_CLOEXEC) != 0) return refused("cannot make a pipe");
    io::Descriptor news_in(news[0]), news_out(news[1]);
    if (::pipe2(life, O_CLOEXEC) != 0) return refused("cannot make a pipe");
    io::Descriptor life_in(life[0]), life_out(life[1]);
    ::fcntl(news_in.get(), F_SETFL, O_NONBLOCK);

    const sigset_t set = signals_of_the_keeper();
    sigprocmask(SIG_BLOCK, &set, nullptr);
    // The namespace is for children: the next fork() is its first process. Further children of the
    // lab are of its own again.
    const io::Descriptor own(::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
    if (::unshare(CLONE_NEWPID) != 0) return refused("cannot make a process namespace");
    const pid_t pid = ::fork();
    if (pid < 0) return refused("cannot start a process");
    if (pid > 0) {
        ::setns(own.get(), CLONE_NEWPID);
        static_cast<void>(!::write(life_out.get(), "", 1));
        return Keeper{pid, std::move(news_in)};
    }

    // The byte says that the lab still lived when its death had become ours.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    life_out = io::Descriptor();
    news_in = io::Descriptor();
    char alive = 0;
    if (::read(life_in.get(), &alive, 1) != 1) ::_exit(kExitUnable);
    if (::unshare(CLONE_NEWNS) != 0) {
        say(refused("cannot make a mount namespace").sentence());
        ::_exit(kExitUnable);
    }
    ::_exit(KeeperProcess(household, hosts, news_out.get()).live());
}

}  // namespace lambda::lab

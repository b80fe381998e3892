#include "client/child.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "client/replicate/hooks.h"
#include "common/io/file/root.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::client;

namespace {

ChildEnd run(const std::string& command, Time deadline) {
    const auto child = spawn({"sh", "-c", command}, STDERR_FILENO, {{"CODE", "3"}});
    REQUIRE(child.ok());
    return await_end(*child, deadline);
}

}  // namespace

TEST_CASE("a program ends by itself, or is ended at its time with what it began") {
    const ChildEnd code = run("exit $CODE", now() + std::chrono::seconds(60));
    CHECK(code.how == Wait::ready);
    CHECK((WIFEXITED(code.status) && WEXITSTATUS(code.status) == 3));
    const ChildEnd late = run("sleep 600 & wait", now());
    CHECK(late.how == Wait::late);
    CHECK((WIFSIGNALED(late.status) && WTERMSIG(late.status) == SIGKILL));
    const auto none = spawn({"/no/such/program"}, STDERR_FILENO);
    REQUIRE(!none.ok());
    CHECK(none.error().path == "/no/such/program");
}

TEST_CASE("signals that we ignore are as usual to a program") {
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    const ChildEnd end = run("kill -PIPE $$", now() + std::chrono::seconds(60));
    std::signal(SIGPIPE, before);
    CHECK((WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGPIPE));
}

TEST_CASE("a command is ended at its time though no further file may be opened") {
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    std::vector<io::Descriptor> taken;
    do {
        taken.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    } while (taken.back());
    const auto ran = replicate::run_command({.key = "before", .command = "sleep 20"}, {},
                                            std::chrono::milliseconds(1));
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    REQUIRE(!ran.ok());
    CHECK(ran.error().message.find("was ended") != std::string::npos);
}

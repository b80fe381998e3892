#include "common/io/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/io/net/loopback.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

namespace {

// What goes to stderr while `what` runs.
std::string said(const std::function<void()>& what) {
    const Folder folder;
    const Descriptor before(::dup(STDERR_FILENO));
    {
        const Descriptor file(::open((folder / "err").c_str(), O_WRONLY | O_CREAT, 0600));
        ::dup2(file.get(), STDERR_FILENO);
    }
    what();
    ::dup2(before.get(), STDERR_FILENO);
    return read_file(folder / "err");
}

}  // namespace

TEST_CASE("log: levels are known by name and keep what is below them silent") {
    CHECK(parse_log_level("debug").value() == LogLevel::debug);
    CHECK(parse_log_level("off").value() == LogLevel::off);
    CHECK_FALSE(parse_log_level("Debug").ok());
    CHECK_FALSE(parse_log_level("").ok());
    open_log(LogLevel::info);
    CHECK(log_enabled(LogLevel::info));
    CHECK_FALSE(log_enabled(LogLevel::debug));
    CHECK(said([] { log_debug("quiet"); }).empty());
    const std::string line = said([] { log_info("session 7: {} stands"); });
    CHECK(line.find("info: session 7: {} stands\n") != std::string::npos);
    open_log(LogLevel::off);
    CHECK(said([] { log_error("quiet"); }).empty());
    open_log(LogLevel::warning);
}

TEST_CASE("log: a name cannot forge a line") {
    const std::string line = said([] { log_warning("a\nb\r\x1b[2J\x7f\xff"); });
    CHECK(std::count(line.begin(), line.end(), '\n') == 1);
    CHECK(line.find("a\\x0ab\\x0d\\x1b[2J\\x7f\\xff\n") != std::string::npos);
}

TEST_CASE("log: a name cannot move the cursor of who reads it, nor look like one that could") {
    const std::string line =
        said([] { log_warning("\u009b31m \xc2\x9b \x9b \u202e \u2069 caf\u00e9 \u2028 a\\x0ab"); });
    INFO(line);
    CHECK(line.find("\\xc2\\x9b31m \\xc2\\x9b \\x9b \\xe2\\x80\\xae \\xe2\\x81\\xa9 "
                    "caf\u00e9 \u2028 a\\\\x0ab\n") != std::string::npos);
}

TEST_CASE("log: a pipe that nobody reads holds nobody up, and what is lost is said") {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const Descriptor reader(ends[0]), before(::dup(STDERR_FILENO));
    {
        const Descriptor writer(ends[1]);
        ::dup2(writer.get(), STDERR_FILENO);
    }
    std::string read(std::size_t{1} << 20, '\0');
    const auto take = [&] {
        const ssize_t got = ::read(reader.get(), read.data(), read.size());
        return std::string(read.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    };
    const std::string text(2000, 'x');
    for (int i = 0; i < 100; ++i) log_warning(text);  // 200 KB, where a pipe holds 64 KiB
    const std::string held = take();
    log_warning("read again");
    const std::string then = take();
    ::dup2(before.get(), STDERR_FILENO);
    const auto whole = std::count(held.begin(), held.end(), '\n');
    INFO(then);
    CHECK(whole > 10);
    CHECK(then.find("warning: " + std::to_string(100 - whole) + " lines of this log were lost") !=
          std::string::npos);
    CHECK(then.find("warning: read again\n") != std::string::npos);
}

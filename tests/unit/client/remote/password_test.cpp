#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "client/remote/password.h"
#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

using namespace lambda;
using namespace lambda::client;

namespace {

// Stands for the user's environment while it lives.
class Environment {
  public:
    explicit Environment(const std::string& home) {
        ::setenv("HOME", home.c_str(), 1);
        ::unsetenv("LAMBDA_FTP_PASSWORD");
    }
    ~Environment() { ::unsetenv("LAMBDA_FTP_PASSWORD"); }
};

struct Warnings {
    std::vector<std::string> said;
    std::function<void(const std::string&)> hear() {
        return [this](const std::string& text) { said.push_back(text); };
    }
};

std::string found(std::string_view netrc, std::string_view host, std::string_view user = "") {
    const auto login = find_in_netrc(netrc, host, user);
    return login ? login->user + "/" + login->password : "none";
}

}  // namespace

TEST_CASE("netrc entries are found by machine and login") {
    const char* netrc =
        "# machine h login no password no\n"
        "machine other login x password y\n"
        "machine h login ann\n\tpassword one account z\n"
        "macdef init\ncd /\nmachine h login no password no\n\n"
        "machine h login bob password \"t w\\\"o\"\n"
        "machine Store.Example login carl password five\n"
        "default login any password rest\n";
    CHECK(found(netrc, "h") == "ann/one");
    CHECK(found(netrc, "h", "ann") == "ann/one");
    CHECK(found(netrc, "h", "bob") == "bob/t w\"o");
    CHECK(found(netrc, "store.example") == "carl/five");  // places have hosts in lower case
    CHECK(found(netrc, "elsewhere") == "any/rest");
    CHECK(found(netrc, "h", "any") == "any/rest");
    CHECK(found(netrc, "h", "nobody") == "none");
}

TEST_CASE("damaged netrc files give nothing and end") {
    for (const char* netrc :
         {"", "machine", "machine h", "machine h login", "machine h login a password",
          "login a password b", "machine h password \"", "macdef", "macdef x", "garbage \\ \"", "#",
          "machine h login a # password b"}) {
        CAPTURE(netrc);
        CHECK(found(netrc, "h") == "none");
    }
}

TEST_CASE("passwords come from the file, the environment, netrc, in this order") {
    const Scratch scratch;
    const Environment environment(scratch / "");
    Warnings warnings;
    const Server server{"ann", "h", 2811};
    ::chmod(scratch.write(".netrc", "machine h login ann password three\n").c_str(), 0600);
    CHECK(Logins().find(server, "", warnings.hear())->password == "three");
    ::setenv("LAMBDA_FTP_PASSWORD", "", 1);
    CHECK(Logins().find(server, "", warnings.hear())->password == "three");
    ::setenv("LAMBDA_FTP_PASSWORD", "two", 1);
    CHECK(Logins().find(server, "", warnings.hear())->password == "two");
    const std::string file = scratch.write("password", "one\r\nnot this\n");
    ::chmod(file.c_str(), 0600);
    CHECK(Logins().find(server, file, warnings.hear())->password == "one");
    CHECK(warnings.said.empty());
    CHECK(Logins().find(Server{"", "h", 2811}, file, warnings.hear())->user == "ann");
}

TEST_CASE("password files that others can read are warned of") {
    const Scratch scratch;
    const Environment environment(scratch / "");
    Warnings warnings;
    const std::string file = scratch.write("password", "one");
    ::chmod(file.c_str(), 0644);
    CHECK(Logins().find(Server{"ann", "h", 1}, file, warnings.hear())->password == "one");
    REQUIRE(warnings.said.size() == 1);
    CHECK(warnings.said[0].find(file) != std::string::npos);
    CHECK(warnings.said[0].find("one;") == std::string::npos);
    const std::string first = warnings.said[0];
    warn_of_readable_password(Server{"ann", "h", 1}, file, warnings.hear());
    CHECK(warnings.said.back() == first);
    const std::string netrc = scratch.write(".netrc", "machine h login ann password one");
    ::chmod(netrc.c_str(), 0604);
    warn_of_readable_password(Server{"ann", "other", 1}, {}, warnings.hear());
    CHECK(warnings.said.size() == 2);
    warn_of_readable_password(Server{"ann", "h", 1}, {}, warnings.hear());
    CHECK(warnings.said.back().find(".netrc holds a password") != std::string::npos);
}

TEST_CASE("a password file that is missing is a usage error") {
    const Scratch scratch;
    const Environment environment(scratch / "");
    Warnings warnings;
    const std::string empty = scratch / "empty";
    scratch.write("empty", "\nsecond line\n");
    CHECK(Logins().find(Server{"ann", "h", 1}, empty, warnings.hear()).error().path == empty);
    const auto login = Logins().find(Server{"ann", "h", 1}, scratch / "none", warnings.hear());
    REQUIRE(!login.ok());
    CHECK(login.error().fault == Fault::usage);
}

TEST_CASE("what came through a pipe is kept for the run, what a file has is read again") {
    const Scratch scratch;
    const Environment environment(scratch / "");
    Warnings warnings;
    Logins logins;
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    REQUIRE(::write(ends[1], "piped\n", 6) == 6);
    ::close(ends[1]);
    const std::string pipe = "/dev/fd/" + std::to_string(ends[0]);
    const std::string file = scratch / "password";
    for (const char* written : {"old", "new"}) {
        scratch.write("password", written);
        CHECK(logins.find(Server{"ann", "h", 1}, pipe, warnings.hear())->password == "piped");
        CHECK(logins.find(Server{"bob", "other", 1}, file, warnings.hear())->password == written);
    }
    CHECK(logins.find(Server{"bob", "other", 1}, pipe, warnings.hear())->user == "bob");
    ::close(ends[0]);
}

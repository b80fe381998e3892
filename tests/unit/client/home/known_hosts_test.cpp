#include <sys/stat.h>

#include "client/home/known_hosts.h"
#include "client/remote/trust.h"
#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

using namespace lambda;
using namespace lambda::client;

namespace {
const std::string kOne = "SHA256:" + std::string(43, 'a');
const std::string kTwo = "SHA256:" + std::string(42, 'b') + "/";
const Server kServer{"", "host", 2811};
}  // namespace

TEST_CASE("a server is unknown, then pinned for its port alone") {
    const Scratch scratch;
    const KnownHosts known(scratch / "made/on/the/way/known_hosts");
    REQUIRE(known.find(kServer).ok());
    CHECK(!known.find(kServer)->has_value());
    REQUIRE(known.add(kServer, kOne).ok());
    CHECK(*known.find(kServer) == kOne);
    CHECK(*known.find(Server{"other-user", "host", 2811}) == kOne);
    CHECK(!known.find(Server{"", "host", 28}).value().has_value());
    CHECK(!known.find(Server{"", "hos", 2811}).value().has_value());
    struct stat status {};
    REQUIRE(::stat(known.file().c_str(), &status) == 0);
    CHECK((status.st_mode & 0077) == 0);
}

TEST_CASE("who comes second pins nothing, and hears what is pinned") {
    const Scratch scratch;
    const KnownHosts known(scratch / "known_hosts");
    REQUIRE(known.add(kServer, kOne).ok());
    for (const std::string& key : {kOne, kTwo}) {
        const auto pinned = known.add(kServer, key);
        REQUIRE(pinned.ok());
        CHECK(*pinned == kOne);
    }
    CHECK(content_of(known.file()) == "[host]:2811 " + kOne + "\n");
    const KnownHosts damaged(scratch.write("damaged", "[host]:2811 short\n"));
    CHECK(!damaged.add(kServer, kOne).ok());
    CHECK(content_of(damaged.file()) == "[host]:2811 short\n");
}

TEST_CASE("other lines are kept when a server is added") {
    const Scratch scratch;
    const KnownHosts known(scratch.write("known_hosts", "# mine\n\n[x]:1 garbage\n[y]:2 " + kTwo));
    REQUIRE(known.add(kServer, kOne).ok());
    CHECK(content_of(known.file()) ==
          "# mine\n\n[x]:1 garbage\n[y]:2 " + kTwo + "\n[host]:2811 " + kOne + "\n");
    CHECK(*known.find(Server{"", "y", 2}) == kTwo);
}

TEST_CASE("a pin counts however it is set out") {
    const Scratch scratch;
    for (const std::string& line :
         {"[host]:2811\t" + kOne, " [host]:2811 " + kOne, "\t[host]:2811 \t " + kOne + " \r",
          "[Host]:2811 " + kOne, "[HOST]:2811  " + kOne + "\t"}) {
        CAPTURE(line);
        const KnownHosts known(scratch.write("known_hosts", "[host]:28110 " + kTwo + "\n" + line));
        REQUIRE(known.find(kServer).ok());
        CHECK(*known.find(kServer) == kOne);
        CHECK(*known.find(Server{"", "host", 28110}) == kTwo);
    }
}

TEST_CASE("a file that is a link to another place stays one") {
    const Scratch scratch;
    const std::string dotfile = scratch.write("dotfile", "# mine\n");
    const KnownHosts known(scratch / "known_hosts");
    std::filesystem::create_symlink(dotfile, known.file());
    REQUIRE(known.add(kServer, kOne).ok());
    CHECK(std::filesystem::is_symlink(known.file()));
    CHECK(content_of(dotfile) == "# mine\n[host]:2811 " + kOne + "\n");
}

TEST_CASE("a damaged line of the server itself is an error, of another it is not") {
    const Scratch scratch;
    for (const std::string& line :
         {std::string("[host]:2811"), std::string("[host]:2811 SHA256:short"),
          "[host]:2811 " + kOne + "x", "[host]:2811 " + kOne + " more", "[host]:2811" + kOne,
          "[host]:2811, " + kOne, std::string("[host]:2811  ")}) {
        CAPTURE(line);
        const KnownHosts known(scratch.write("known_hosts", "\xff\x01\n" + line + "\n"));
        const auto found = known.find(kServer);
        REQUIRE(!found.ok());
        CHECK(found.error().fault == Fault::session);
        CHECK(found.error().message.find("line 2") != std::string::npos);
        CHECK(known.find(Server{"", "other", 2811}).ok());
    }
}

TEST_CASE("an unreadable or enormous file is an error") {
    const Scratch scratch;
    CHECK(!KnownHosts(scratch / "").find(kServer).ok());  // a directory
    const KnownHosts huge(scratch.write("huge", std::string((1 << 20) + 1, '#')));
    CHECK(!huge.find(kServer).ok());
}

TEST_CASE("a key is trusted when new and asked for, kept when the same, refused when changed") {
    const Scratch scratch;
    const KnownHosts known(scratch / "known_hosts");
    REQUIRE(check_key(known, kServer, kOne, NewHost::trust).ok());
    CHECK(check_key(known, kServer, kOne, NewHost::refuse).ok());
    for (const NewHost new_host : {NewHost::refuse, NewHost::trust}) {
        const auto changed = check_key(known, kServer, kTwo, new_host);
        REQUIRE(!changed.ok());
        CHECK(changed.error().fault == Fault::session);
        CHECK(changed.error().message.find(kOne) != std::string::npos);
        CHECK(changed.error().message.find(kTwo) != std::string::npos);
    }
    CHECK(*known.find(kServer) == kOne);
    const Server other{"ann", "elsewhere", 2811};
    CHECK_FALSE(check_key(known, other, kOne, NewHost::refuse).ok());
    CHECK_FALSE(known.find(other)->has_value());
    CHECK(!check_key(known, kServer, "", NewHost::trust).ok());
}

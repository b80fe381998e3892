#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "common/session/command.h"
#include "common/session/entry.h"
#include "common/session/line.h"
#include "server/checksum.h"
#include "server/file_commands.h"
#include "server/listing.h"
#include "server/plain_commands.h"
#include "tests/unit/server/temporary.h"

namespace lambda::server {
namespace {

struct Jail {
    explicit Jail(bool read_only = false)
        : root(std::move(*io::Root::jail(scratch.path(), read_only, false))) {}

    session::Reply say(const std::string& verb, const std::string& argument = {}) {
        return run_file_command({.verb = verb, .argument = argument}, root, place);
    }
    int code(const std::string& verb, const std::string& argument = {}) {
        return say(verb, argument).code;
    }
    session::Reply line(const std::string& text) {
        const Result<session::Command> command = session::parse_command(text);
        REQUIRE(command.ok());
        return say(command->verb, command->argument);
    }

    TemporaryDirectory scratch;
    io::Root root;
    FilePlace place;
};

std::vector<session::Entry> entries_of(std::string_view wire) {
    std::vector<session::Entry> entries;
    session::LineFramer framer;
    while (!wire.empty()) {
        wire.remove_prefix(framer.feed(wire));
        REQUIRE(framer.ready());
        const session::Line line = framer.take();
        REQUIRE(line.text.starts_with(' '));
        entries.push_back(*session::parse_entry(std::string_view(line.text).substr(1)));
    }
    return entries;
}

Result<std::string> digest_of(const io::Root& root, const std::string& path,
                              std::uint64_t offset = 0, std::optional<std::uint64_t> length = {},
                              bool stopped = false) {
    std::atomic<std::uint64_t> bytes{0};
    return checksum(
        {.algorithm = "xxh3-128", .offset = offset, .length = length, .path = path},
        verify::Algorithm::xxh3_128, root, [=] { return stopped; }, bytes);
}

}  // namespace

TEST_CASE("names are made, found, renamed and removed below the root") {
    Jail jail;
    CHECK(jail.say("PWD").text() == "\"/\"");
    CHECK(jail.say("MKD", "a \"b\"").text() == "\"/a \"\"b\"\"\" made");
    CHECK(jail.code("MKD", "a \"b\"") == 550);
    CHECK(jail.code("CWD", "a \"b\"/.//.") == 250);
    CHECK(jail.place.directory == "/a \"b\"");
    jail.scratch.write("a \"b\"/file", "twelve bytes");
    CHECK(jail.say("SIZE", "file").text() == "12");
    CHECK(jail.say("SIZE", "/a \"b\"/file").text() == "12");
    CHECK(jail.say("MDTM", "file").text().size() == 24);
    CHECK(jail.code("RNTO", "x") == 503);
    CHECK(jail.code("RNFR", "none") == 550);
    CHECK(jail.code("RNFR", "file") == 350);
    CHECK(jail.code("RNTO", "../moved") == 250);
    CHECK(jail.code("RNTO", "../moved") == 503);
    CHECK(jail.code("RNFR", "../moved") == 350);
    CHECK(jail.code("PWD") == 257);
    CHECK(jail.code("RNTO", "x") == 503);
    CHECK(jail.code("CDUP") == 250);
    CHECK(jail.place.directory == "/");
    CHECK(jail.code("DELE", "a \"b\"") == 550);
    CHECK(jail.code("RMD", "moved") == 550);
    CHECK(jail.code("DELE", "moved") == 250);
    CHECK(jail.code("RMD", "a \"b\"") == 250);
    CHECK(jail.code("SIZE", "/") == 550);
    CHECK(jail.code("DELE") == 501);
}

TEST_CASE("no name leads out of the root") {
    Jail jail;
    REQUIRE(::symlink("/etc", (jail.scratch / "etc").c_str()) == 0);
    REQUIRE(::symlink("../../../../etc/passwd", (jail.scratch / "up").c_str()) == 0);
    for (const std::string name :
         {"..", "../x", "/../etc", "a/../../x", "etc/passwd", "up", "/proc/self"}) {
        CAPTURE(name);
        CHECK(jail.code("SIZE", name) == 550);
        CHECK(jail.code("CWD", name) == 550);
        CHECK_FALSE(Listing::open(jail.root, resolve("/", name)).ok());
        CHECK_FALSE(digest_of(jail.root, resolve("/", name)).ok());
    }
    for (const std::string name : {"../x", "etc/x", "/../x"}) {
        CAPTURE(name);
        CHECK(jail.code("MKD", name) == 550);
        CHECK(jail.code("DELE", name) == 550);
        CHECK(jail.code("RMD", name) == 550);
    }
    CHECK(jail.code("CDUP") == 250);
    CHECK(jail.place.directory == "/");
    CHECK(jail.say("SIZE", "../x").text().find(jail.scratch.path()) == std::string::npos);
}

TEST_CASE("an escaped path names what it spells, and leads out of nothing") {
    Jail jail;
    jail.scratch.write("a\r\nb%0A", "12345");
    jail.scratch.write("a%0Ab", "123");
    CHECK(jail.line("SIZE a%0Ab").text() == "3");
    CHECK(jail.line("PCT SIZE a%250Ab").text() == "3");
    CHECK(jail.line("PCT SIZE a%0D%0Ab%250A").text() == "5");
    const std::string outside = jail.scratch.path() + "-outside";
    std::ofstream(outside) << "not yours";
    const std::string leaf = outside.substr(outside.rfind('/') + 1);
    for (const std::string path : {"..%2F", "%2e%2e/", "%2E%2E%2F", "/%2e./", "%2F..%2f",
                                   "x%2f..%2f..%2f", "%2fproc/self/root/", "..%2F..%2F"}) {
        CAPTURE(path);
        for (const std::string verb : {"SIZE", "MLST", "MDTM", "DELE", "RMD", "RNFR"})
            CHECK(jail.line("PCT " + verb + " " + path + leaf).code == 550);
        CHECK(jail.line("PCT MKD " + path + leaf + "-made").code == 550);
        CHECK(jail.line("PCT RNFR a%250Ab").code == 350);
        CHECK(jail.line("PCT RNTO " + path + leaf).code == 550);
    }
    CHECK(std::filesystem::file_size(outside) == 9);
    CHECK_FALSE(std::filesystem::exists(outside + "-made"));
    std::filesystem::remove(outside);
    CHECK(jail.line("PCT RNFR a%0D%0Ab%250A").code == 350);
    CHECK(jail.line("PCT RNTO a%0A").code == 250);
    CHECK(jail.line("PCT MKD b%0Ac").code == 257);
    CHECK(jail.line("PCT RMD b%0Ac").code == 250);
    CHECK(jail.line("PCT DELE a%0a").code == 250);
    CHECK(jail.line("DELE a%0Ab").code == 250);
    CHECK(std::filesystem::is_empty(jail.scratch.path()));
}

TEST_CASE("a read-only account changes nothing") {
    Jail jail(true);
    jail.scratch.write("file", "x");
    for (const std::string verb : {"MKD", "RMD", "DELE", "RNFR"})
        CHECK(jail.code(verb, "file") == 550);
    CHECK(jail.code("SIZE", "file") == 213);
}

TEST_CASE("MLST tells facts, of a link itself") {
    Jail jail;
    jail.scratch.write("new\nline", "123");
    REQUIRE(::symlink("nowhere", (jail.scratch / "link").c_str()) == 0);
    const session::Reply file = jail.say("MLST", "new\nline");
    REQUIRE(file.lines.size() == 3);
    const session::Entry entry = *session::parse_entry(file.lines[1]);
    CHECK(entry.name == "new\nline");
    CHECK(entry.size == 3);
    const session::Entry link = *session::parse_entry(jail.say("MLST", "link").lines[1]);
    CHECK(link.type == session::EntryType::link);
    CHECK(link.target == "nowhere");
    CHECK(entry.target.empty());
    CHECK(session::parse_entry(jail.say("MLST").lines[1])->type == session::EntryType::directory);
    CHECK(jail.code("MLST", "none") == 550);
}

TEST_CASE("a listing comes in bounded pieces, whatever the names") {
    Jail jail;
    std::vector<std::string> names;
    for (int i = 0; i < 300; ++i) names.push_back("file-" + std::to_string(i));
    names.insert(names.end(),
                 {std::string(255, 'n'), "new\nline", " lead", "\xff\xfe", "-x", "a;b=c"});
    for (const std::string& name : names) jail.scratch.write(name, name);
    Result<Listing> listing = Listing::open(jail.root, "/");
    REQUIRE(listing.ok());
    std::vector<std::string> listed;
    for (;;) {
        const Result<std::string> piece = listing->next(1000);
        REQUIRE(piece.ok());
        if (piece->empty()) break;
        CHECK(piece->size() < 1000 + session::kMaxLine);
        for (const session::Entry& entry : entries_of(*piece)) {
            listed.push_back(entry.name);
            CHECK(entry.size == entry.name.size());
        }
    }
    std::sort(names.begin(), names.end());
    std::sort(listed.begin(), listed.end());
    CHECK(listed == names);
    jail.scratch.write("file", "");
    CHECK_FALSE(Listing::open(jail.root, "/file").ok());
    CHECK_FALSE(Listing::open(jail.root, "/none").ok());
}

TEST_CASE("a link shows what it holds, and nothing of what lies there") {
    Jail jail;
    const std::string odd = "a\r\nb;=%\xff -> c";
    const std::string huge(3999, ' ');  // encoded, no line has room for it
    const std::vector<std::pair<std::string, std::string>> links = {{"dangling", "none"},
                                                                    {"out", "../../etc/passwd"},
                                                                    {"absolute", "/etc/passwd"},
                                                                    {"odd\n", odd},
                                                                    {"huge", huge},
                                                                    {"loop", "loop"}};
    for (const auto& [name, target] : links)
        REQUIRE(::symlink(target.c_str(), (jail.scratch / name).c_str()) == 0);
    Result<Listing> listing = Listing::open(jail.root, "/");
    REQUIRE(listing.ok());
    const std::vector<session::Entry> entries = entries_of(*listing->next(100'000));
    CHECK(entries.size() == links.size());
    for (const auto& [name, target] : links) {
        CAPTURE(name);
        const std::string expected = target == huge ? std::string() : target;
        CHECK(session::parse_entry(jail.say("MLST", name).lines[1])->target == expected);
        const auto listed = std::find_if(entries.begin(), entries.end(),
                                         [&](const auto& entry) { return entry.name == name; });
        REQUIRE(listed != entries.end());
        CHECK(listed->target == expected);
        CHECK(listed->type == session::EntryType::link);
    }
}

TEST_CASE("a checksum is that of the range as a file of its own") {
    Jail jail;
    const std::string text(3'000'001, 'x');
    jail.scratch.write("whole", text + "yz");
    jail.scratch.write("part", text);
    jail.scratch.write("empty", "");
    const Result<std::string> part = digest_of(jail.root, "/part");
    REQUIRE(part.ok());
    CHECK(part->size() == 32);
    CHECK(*digest_of(jail.root, "/whole", 0, text.size()) == *part);
    CHECK(*digest_of(jail.root, "/whole") != *part);
    CHECK(*digest_of(jail.root, "/whole", text.size() + 2) == *digest_of(jail.root, "/empty"));
    CHECK(digest_of(jail.root, "/part", text.size() + 1).error().fault == Fault::usage);
    CHECK(digest_of(jail.root, "/part", 1, text.size()).error().fault == Fault::usage);
    CHECK(digest_of(jail.root, "/part", 0, {}, true).error().fault == Fault::cut);
    CHECK_FALSE(digest_of(jail.root, "/").ok());
    REQUIRE(::mkfifo((jail.scratch / "pipe").c_str(), 0600) == 0);
    CHECK_FALSE(digest_of(jail.root, "/pipe").ok());
}

TEST_CASE("plain commands are answered without a session") {
    const auto code = [](const std::string& verb, const std::string& argument = {}) {
        const auto reply = answer_plain_command({.verb = verb, .argument = argument});
        return reply ? reply->code : 0;
    };
    CHECK(code("NOOP") == 200);
    CHECK(code("FEAT") == 211);
    CHECK(code("HELP") == 214);
    CHECK(code("SYST") == 215);
    CHECK(code("TYPE", "i") == 200);
    CHECK(code("TYPE", "E") == 504);
    CHECK(code("OPTS", "UTF8 ON") == 200);
    CHECK(code("OPTS", "MLST type;size;") == 200);
    CHECK(code("OPTS", "X") == 501);
    CHECK(code("PBSZ", "0") == 200);
    CHECK(code("PBSZ", "1") == 501);
    CHECK(code("PROT", "P") == 200);
    CHECK(code("PROT", "C") == 504);
    CHECK(code("RETR") == 0);
}

}  // namespace lambda::server

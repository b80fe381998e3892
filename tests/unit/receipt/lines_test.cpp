#include "common/receipt/lines.h"

#include "common/receipt/base64.h"
#include "common/transfer/record.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::receipt;

namespace {

FileLine file_line() {
    FileLine line;
    line.path = "a/\xff \"quoted\"\n\xc3\xa4";
    line.size = 5;
    line.mtime_ns = 1234567890123456789;
    line.xxh3.emplace();
    line.xxh3->fill(std::byte{0xab});
    return line;
}

Statement statement() {
    Statement made;
    made.server = "host:2811";
    made.account = "ann";
    made.place = "/runs";
    made.into_directory = true;
    made.transfer = (1ull << 32) + 7;
    made.tally.files = 2;
    made.tally.bytes = UINT64_MAX;
    made.time_ns = -1;
    made.key = "SHA256:abc";
    return made;
}

template <typename T>
void survives(const T& value) {
    const std::string line = to_line(value);
    INFO(line);
    const auto read = parse_line(line);
    REQUIRE(read.has_value());
    REQUIRE(std::holds_alternative<T>(*read));
    CHECK(to_line(std::get<T>(*read)) == line);
}

}  // namespace

TEST_CASE("a file's line is spelt as documented, with every byte of its name") {
    CHECK(to_line(file_line()) ==
          R"({"path":"a/\udcff \"quoted\"\n)"
          "\xc3\xa4"
          R"(","size":5,"mtime":"2009-02-13T23:31:30.123456789Z","xxh3-128":")"
          R"(abababababababababababababababab"})");
    FileLine line = file_line();
    CHECK(std::get<FileLine>(parse_line(to_line(line)).value()) == line);
    line.adopted = true;
    line.xxh3.reset();
    line.mtime_ns = INT64_MIN;
    CHECK(std::get<FileLine>(parse_line(to_line(line)).value()) == line);
    line.sha256.emplace();
    line.size = UINT64_MAX;
    CHECK(std::get<FileLine>(parse_line(to_line(line)).value()) == line);
}

TEST_CASE("the longest name fits a line") {
    FileLine line = file_line();
    line.sha256.emplace();
    line.adopted = true;
    line.path.assign(transfer::kMaxNameBytes, '\xff');
    CHECK(to_line(line).size() <= kMostLineBytes);
    survives(line);
}

TEST_CASE("every kind of line can be read again") {
    survives(WantedLine{"runs/*.bin", false, true});
    survives(WantedLine{"", true, false});
    survives(statement());
    Statement get = statement();
    get.direction = session::Direction::get;
    get.place.clear();
    get.destination = "/home/ann";
    survives(get);
    survives(Seal{{std::byte{1}, std::byte{2}}, {std::byte{3}}});
}

TEST_CASE("what is spelt in any other way is no line") {
    const std::string line = to_line(file_line());
    for (std::size_t at = 0; at < line.size(); ++at) {
        INFO(at);
        CHECK_FALSE(parse_line(line.substr(0, at)).has_value());
        std::string longer = line;
        longer.insert(at, " ");
        // Within the name or its mark it is another name; elsewhere it is none of our spellings.
        const auto read = parse_line(longer);
        CHECK((!read || std::get<FileLine>(*read).path != file_line().path));
    }
    CHECK_FALSE(parse_line("").has_value());
    CHECK_FALSE(parse_line("{}").has_value());
    CHECK_FALSE(parse_line(line + " ").has_value());
    CHECK_FALSE(parse_line(R"({"path":"a","size":05,"mtime":"2009-02-13T23:31:30.000000000Z"})"));
    CHECK_FALSE(parse_line(R"({"path":"a","size":5,"mtime":"2009-02-13T23:31:30Z"})"));
    CHECK_FALSE(
        parse_line(R"({"path":"\u0061","size":5,"mtime":"2009-02-13T23:31:30.000000000Z"})"));
    CHECK(parse_line(R"({"path":"a","size":5,"mtime":"2009-02-13T23:31:30.000000000Z"})"));
}

TEST_CASE("a name that leads out is no line") {
    for (const char* name : {"", "/a", "../a", "a/../b", "a/", ".", "a//b"}) {
        FileLine line = file_line();
        line.path = name;
        INFO(name);
        CHECK_FALSE(parse_line(to_line(line)).has_value());
    }
}

TEST_CASE("base64 has one spelling") {
    for (std::size_t size = 0; size < 8; ++size) {
        const std::vector<std::byte> bytes(size, std::byte{0xf7});
        CHECK(from_base64(to_base64(bytes)) == bytes);
    }
    for (const char* wrong : {"A", "AA", "AAA", "AB==", "AAB=", "A===", "====", "AA==AA==", "AA A"})
        CHECK_FALSE(from_base64(wrong).has_value());
}

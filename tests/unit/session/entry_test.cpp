#include "common/session/entry.h"

#include <string>

#include "common/session/timestamp.h"
#include "tests/support/catch.h"

namespace lambda::session {

TEST_CASE("an entry survives the wire, whatever its name") {
    for (const std::string name :
         {"plain", " lead; and=facts;", "new\nline\r%0A", "100%", "\xff\xfe"}) {
        CAPTURE(name);
        const Entry entry{.type = EntryType::file,
                          .size = UINT64_MAX,
                          .mtime_ns = 1'700'000'000'123'456'789,
                          .mode = 04755,
                          .perm = "radfw",
                          .name = name};
        const std::string wire = format_entry(entry);
        CHECK(wire.find_first_of("\r\n") == std::string::npos);
        const Result<Entry> parsed = parse_entry(wire);
        REQUIRE(parsed.ok());
        CHECK(*parsed == entry);
    }
}

TEST_CASE("a link's target survives the wire, whatever it is") {
    for (const std::string target : {"there", "a;b= c\r\n%0A", "\xff/../..", "/"}) {
        const Entry link{
            .type = EntryType::link, .perm = "", .name = "two\nlines", .target = target};
        const std::string wire = format_entry(link);
        CHECK(wire.find_first_of("\r\n") == std::string::npos);
        CHECK(*parse_entry(wire) == link);
    }
    CHECK_FALSE(parse_entry("type=OS.unix=symlink;target=%0; x").ok());
    CHECK(parse_entry("type=OS.unix=symlink; x")->target.empty());
}

TEST_CASE("each type of entry survives the wire") {
    for (const EntryType type :
         {EntryType::file, EntryType::directory, EntryType::link, EntryType::special}) {
        const Entry entry{
            .type = type, .size = 0, .mtime_ns = 0, .mode = 0, .perm = "", .name = "x"};
        CHECK(*parse_entry(format_entry(entry)) == entry);
        const Entry unseen{.type = type, .perm = "r", .name = "x", .looked_at = false};
        CHECK(*parse_entry(format_entry(unseen)) == unseen);
    }
    CHECK(format_entry({.type = EntryType::file,
                        .size = 3,
                        .mtime_ns = 0,
                        .mode = 0644,
                        .perm = "r",
                        .name = "n"}) ==
          "type=file;size=3;modify=19700101000000.000000000;unix.mode=0644;perm=r; n");
}

TEST_CASE("malformed entries are refused") {
    for (const std::string line :
         {"", "name", " name", "size=1; x", "type=file;", "type=file; ", "type=file;size=x; a",
          "type=file;modify=2024; a", "type=file;unix.mode=9; a", "type=file;unix.mode=10000; a",
          "type=file;encoded=base64; a", "type=file;encoded=percent; a%0",
          "type=file;encoded=percent; %zz"}) {
        CAPTURE(line);
        CHECK_FALSE(parse_entry(line).ok());
    }
    CHECK(parse_entry("type=file;unknown=1; x").ok());
}

TEST_CASE("times reach from 1677 to 2262 and keep every nanosecond") {
    for (const std::int64_t time :
         {INT64_MIN, INT64_MIN + 1, std::int64_t{-1'000'000'001}, std::int64_t{-1'000'000'000},
          std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{951'782'400'000'000'000},
          INT64_MAX - 1, INT64_MAX}) {
        CAPTURE(time);
        CHECK(parse_timestamp(format_timestamp(time)) == time);
    }
    CHECK(format_timestamp(-1) == "19691231235959.999999999");
    CHECK(format_timestamp(951'782'400'000'000'000) == "20000229000000.000000000");
    CHECK(format_rfc3339(951'782'400'000'000'123) == "2000-02-29T00:00:00.000000123Z");
    CHECK(parse_timestamp("19700101000001") == 1'000'000'000);
    CHECK(parse_timestamp("19700101000000.5") == 500'000'000);
}

TEST_CASE("malformed times are refused") {
    for (const std::string text :
         {"", "2024010203040", "20240230000000", "20241301000000", "20240101240000",
          "20240101006000", "20240101000061", "2024010100000x", "20240101000000.",
          "20240101000000.1234567890", "20240101000000,5", "99991231235959", "-0240101000000"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_timestamp(text).has_value());
    }
}

}  // namespace lambda::session

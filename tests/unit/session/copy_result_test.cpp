#include "common/session/copy_result.h"

#include "common/session/fact_text.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::session;

TEST_CASE("a result survives its reply, whatever the errors say") {
    CopyResult result;
    result.files = 2;
    result.failed = 1;
    result.failures.push_back({.name = {},
                               .error = {.fault = Fault::file,
                                         .message = "no; \xffgood=%",
                                         .path = "a b/c",
                                         .side = Side::remote,
                                         .remedy = "do; it"}});
    const Reply good = format_copy_result(result);
    CHECK(good.code == 226);
    auto parsed = parse_copy_result(good);
    REQUIRE(parsed);
    CHECK(parsed->files == 2);
    REQUIRE(parsed->failures.size() == 1);
    CHECK(parsed->failures[0].error.message == result.failures[0].error.message);
    CHECK(parsed->failures[0].error.path == "a b/c");
    CHECK(parsed->failures[0].error.remedy == "do; it");
    CHECK(parsed->failures[0].error.side == Side::remote);
    CHECK_FALSE(parsed->cut);

    result.cut = Error{
        .fault = Fault::cut, .message = "over", .path = {}, .side = Side::network, .remedy = {}};
    result.cut->fault = Fault::session;
    CHECK(format_copy_result(result).code == 426);
    result.unreached = true;
    CHECK(format_copy_result(result).code == 425);
    parsed = parse_copy_result(format_copy_result(result));
    REQUIRE(parsed);
    CHECK(parsed->cut->message == "over");
    CHECK(parsed->unreached);
    CHECK_FALSE(parsed->cancelled);
    result.cancelled = true;
    CHECK(parse_copy_result(format_copy_result(result))->cancelled);
}

TEST_CASE("a result that was cut says why, and none other") {
    CopyResult result;
    Reply reply = format_copy_result(result);
    for (const int code : {425, 426}) {
        reply.code = code;
        CHECK_FALSE(parse_copy_result(reply));
    }
    result.cut = Error{
        .fault = Fault::cut, .message = "over", .path = {}, .side = Side::network, .remedy = {}};
    reply = format_copy_result(result);
    CHECK(parse_copy_result(reply));
    reply.code = 226;
    CHECK_FALSE(parse_copy_result(reply));
}

TEST_CASE("what fits no line of a result is shortened, and what follows is told") {
    const std::string odd(4000, '\xff');
    CopyResult result;
    result.failed = 2;
    result.failures.push_back({.name = {},
                               .error = {.fault = Fault::file,
                                         .message = odd,
                                         .path = "begin" + odd + " end",
                                         .side = Side::remote,
                                         .remedy = odd}});
    result.failures.push_back({.name = {},
                               .error = {.fault = Fault::integrity,
                                         .message = "differs",
                                         .path = "second",
                                         .side = Side::local,
                                         .remedy = {}}});
    result.skips = {{.name = odd, .why = odd}, {.name = "pipe", .why = "it is one"}};
    result.cut = result.failures.front().error;
    const Reply reply = format_copy_result(result);
    for (const std::string& line : reply.lines) CHECK(fits_line(line));
    const auto parsed = parse_copy_result(reply);
    REQUIRE(parsed);
    REQUIRE(parsed->failures.size() == 2);
    CHECK(parsed->failures[0].error.path.starts_with("begin\xff"));
    CHECK(parsed->failures[0].error.path.ends_with("\xff end"));
    CHECK(parsed->failures[0].error.path.size() < 500);
    CHECK(parsed->failures[0].error.side == Side::remote);
    CHECK(parsed->failures[1].error.path == "second");
    REQUIRE(parsed->skips.size() == 2);
    CHECK(parsed->skips[1].name == "pipe");
    CHECK(parsed->cut->path == parsed->failures[0].error.path);
}

TEST_CASE("a failure has its file's name beside another's path, its end whole however long") {
    const Error error{.fault = Fault::file,
                      .message = std::string(3000, '\xff'),
                      .path = "the directory",
                      .side = Side::local,
                      .remedy = {}};
    const std::string leaf(255, '\xfe');
    CopyResult result;
    result.failed = 2;
    result.failures.push_back({.name = "the directory/a\nb;", .error = error});
    result.failures.push_back({.name = std::string(3000, 'd') + "/" + leaf, .error = error});
    const auto parsed = parse_copy_result(format_copy_result(result));
    REQUIRE(parsed);
    REQUIRE(parsed->failures.size() == 2);
    CHECK(parsed->failures[0].name == "the directory/a\nb;");
    CHECK(parsed->failures[0].error.path == "the directory");
    CHECK(parsed->failures[1].name.ends_with("/" + leaf));
}

TEST_CASE("a result is bounded") {
    CopyResult result;
    for (int i = 0; i < 1000; ++i) {
        result.failures.push_back({.name = {},
                                   .error = {.fault = Fault::file,
                                             .message = std::string(1000, 'x'),
                                             .path = std::string(1000, ';'),
                                             .side = Side::local,
                                             .remedy = {}}});
    }
    std::size_t bytes = 0;
    const Reply reply = format_copy_result(result);
    for (const std::string& line : reply.lines) bytes += line.size();
    CHECK(bytes < kMaxResultText + 1000);
    CHECK(parse_copy_result(reply));
}

TEST_CASE("what is kept of a result is what is told of it") {
    CopyResult result;
    result.failed = 1000;
    result.skipped = 1000;
    const std::string path(4000, 'p');
    result.failures.assign(1000, {"name", Error{.fault = Fault::file,
                                                .message = "cannot read",
                                                .path = path,
                                                .side = Side::local,
                                                .remedy = {}}});
    result.skips.assign(1000, {path, "a pipe"});
    const auto told = format_copy_result(result).lines;
    forget_untold(result);
    CHECK(result.failures.size() + result.skips.size() + 2 == told.size());
    CHECK(result.failures.size() < 150);
    CHECK(result.skips.empty());
    CHECK(format_copy_result(result).lines == told);
    CHECK(result.failed + result.skipped == 2000);
}

TEST_CASE("a result tells of stripes, of what held it back, and of what was skipped") {
    CopyResult result;
    result.adopted = 1;
    result.adopted_bytes = 2;
    result.mended = 3;
    result.deleted = 4;
    result.cuts = 3;
    result.unsaid = 5;
    result.stripes = {{.bytes = 6, .packets = 7, .lost = 8, .rtt_us = 9}, {.bytes = UINT64_MAX}};
    result.skips.push_back({.name = "a\nb;", .why = "a pipe; as it is"});
    result.evidence.law = "mimd:T=400ms";
    result.evidence.law_is_fixed = true;
    result.evidence.rate_limit = BitRate{80e6};
    result.evidence.window = 10;
    result.evidence.memory = 11;
    result.evidence.sender[verdict::Figure::elapsed] = 12;
    result.evidence.receiver[verdict::Figure::queue_at_loss] = 13;
    const auto parsed = parse_copy_result(format_copy_result(result));
    REQUIRE(parsed);
    CHECK(parsed->adopted == 1);
    CHECK(parsed->adopted_bytes == 2);
    CHECK(parsed->mended == 3);
    CHECK(parsed->deleted == 4);
    CHECK(parsed->cuts == 3);
    CHECK(parsed->unsaid == 5);
    REQUIRE(parsed->stripes.size() == 2);
    CHECK(parsed->stripes[0].lost == 8);
    CHECK(parsed->stripes[0].rtt_us == 9);
    CHECK(parsed->stripes[1].bytes == UINT64_MAX);
    REQUIRE(parsed->skips.size() == 1);
    CHECK(parsed->skips[0].name == "a\nb;");
    CHECK(parsed->skips[0].why == "a pipe; as it is");
    CHECK(parsed->evidence.law == "mimd:T=400ms");
    CHECK(parsed->evidence.law_is_fixed);
    CHECK(parsed->evidence.rate_limit == BitRate{80e6});
    CHECK(parsed->evidence.window == 10);
    CHECK(parsed->evidence.memory == 11);
    CHECK(parsed->evidence.sender.values() == result.evidence.sender.values());
    CHECK(parsed->evidence.receiver.values() == result.evidence.receiver.values());
}

TEST_CASE("lines of a result that make no sense are refused, those of a later version left out") {
    const std::string good = "law=sabul;limit=0;window=0;memory=0;sender=1,2;receiver=3;";
    const auto parse = [](const std::string& line) {
        Reply reply = format_copy_result({});
        reply.lines.push_back(line);
        reply.lines.emplace_back("End");
        return parse_copy_result(reply);
    };
    CHECK(parse(good)->evidence.sender[verdict::Figure::cpu] == 2);
    CHECK(parse(good)->evidence.receiver[verdict::Figure::elapsed] == 3);
    std::string later = "1";
    for (std::size_t i = 0; i < verdict::kFigures + 5; ++i) later += ",7";
    CHECK(parse("law=sabul;limit=0;window=0;memory=0;sender=" + later + ";receiver=3;"));
    CHECK(parse("weather=fine; and warm"));
    for (const char* bad :
         {"law=;limit=0;window=0;memory=0;sender=1;receiver=1;",
          "law=a b;limit=0;window=0;memory=0;sender=1;receiver=1;",
          "law=sabul;limit=0;window=0;memory=0;sender=1,;receiver=1;",
          "law=sabul;limit=0;window=0;memory=0;sender=1;",
          "stripe=1;bytes=0;packets=0;lost=0;rtt=0;", "stripe=0;bytes=0;packets=0;lost=0;",
          "stripe=64;bytes=0;packets=0;lost=0;rtt=0;", "error=cut;", "law"}) {
        INFO(bad);
        CHECK_FALSE(parse(bad));
    }
}

TEST_CASE("a change survives its line, unless it is too long for one") {
    for (const CopyChange& change :
         {CopyChange{.word = "delete", .path = "a b; 100 %\xff", .directory = true},
          CopyChange{.word = "create", .path = "with\r\na line end", .size = 7}}) {
        const auto text = format_copy_change(change);
        REQUIRE(text);
        CHECK(text->find('\n') == std::string::npos);
        CHECK(*parse_copy_change(*text) == change);
    }
    CHECK_FALSE(format_copy_change({.word = "create", .path = std::string(4095, 'x')}));
    for (const char* bad : {"", "change=create;path=%", "path=x;", "change=create;directory=2;",
                            "change=create;path=x;size=-1;"}) {
        INFO(bad);
        CHECK_FALSE(parse_copy_change(bad));
    }
}

// A receipt is whole and signed, or refused.
#include <fcntl.h>
#include <unistd.h>

#include <limits>
#include <sstream>

#include "client/receipt/receipt_file.h"
#include "client/receipt/receipt_reader.h"
#include "client/receipt/signing.h"
#include "common/io/tls/signature.h"
#include "common/ports/disk.h"
#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

using namespace lambda;
using namespace lambda::client;

namespace {

io::TlsContext fresh_key(const Scratch& scratch, const std::string& name) {
    REQUIRE(
        io::make_certificate(scratch / (name + ".pem"), scratch / (name + ".key"), "host").ok());
    auto context = io::TlsContext::server(scratch / (name + ".pem"), scratch / (name + ".key"), {});
    REQUIRE(context.ok());
    return *std::move(context);
}

receipt::FileLine file_line(const std::string& path) {
    receipt::FileLine line;
    line.path = path;
    line.size = 7;
    line.xxh3.emplace();
    return line;
}

struct Written {
    std::string lines, statement, seal;

    std::string text() const { return lines + statement + "\n" + seal + "\n"; }
};

Written written(const io::TlsContext& key, const std::vector<std::string>& names) {
    Written made;
    receipt::Statement statement;
    made.lines = std::string(receipt::kFirstLine) + "\n";
    made.lines += to_line(receipt::WantedLine{"runs", true, false}) + "\n";
    for (const std::string& name : names) {
        made.lines += to_line(file_line(name)) + "\n";
        ++statement.tally.files;
        statement.tally.bytes += 7;
    }
    statement.server = "host:2811";
    statement.tally.lines = transfer::sha256(std::as_bytes(std::span(made.lines)));
    statement.key = io::fingerprint_of_key(io::public_key_of(key));
    made.statement = to_line(statement);
    const auto signature = io::sign(key, receipt::signed_text(made.statement));
    REQUIRE(signature.ok());
    made.seal = to_line(receipt::Seal{signature->bytes, signature->public_key});
    return made;
}

Result<ReceiptReader> opened(const std::string& text) {
    return ReceiptReader::open(std::make_unique<std::istringstream>(text), "r");
}

// These, and no more.
void check_files(ReceiptReader& reader, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        const auto line = reader.next();
        REQUIRE(line.ok());
        REQUIRE(line->has_value());
        CHECK((*line)->path == name);
    }
    const auto end = reader.next();
    REQUIRE(end.ok());
    CHECK_FALSE(end->has_value());
}

}  // namespace

TEST_CASE("a whole receipt gives its files") {
    const Scratch scratch;
    const io::TlsContext key = fresh_key(scratch, "own");
    std::vector<std::string> names;
    for (int i = 0; i < 2000; ++i) names.push_back("d/" + std::to_string(i));  // more than a read
    auto reader = opened(written(key, names).text());
    REQUIRE(reader.ok());
    CHECK(reader->key() == io::certificate_fingerprint(scratch / "own.pem").value());
    CHECK(reader->statement().server == "host:2811");
    check_files(*reader, names);
}

TEST_CASE("a receipt that comes through a pipe is as good") {
    const Scratch scratch;
    std::vector<std::string> names;
    for (int i = 0; i < 300; ++i) names.push_back("d/" + std::to_string(i));
    const std::string text = written(fresh_key(scratch, "own"), names).text();
    const auto piped = [](std::string_view content) {
        int ends[2];
        REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        REQUIRE(::write(ends[1], content.data(), content.size()) == ssize_t(content.size()));
        ::close(ends[1]);
        auto reader = ReceiptReader::open("/dev/fd/" + std::to_string(ends[0]));
        ::close(ends[0]);
        return reader;
    };
    auto reader = piped(text);
    REQUIRE(reader.ok());
    check_files(*reader, names);

    CHECK(piped("no receipt\n").error().fault == Fault::usage);
    CHECK(piped(text.substr(0, text.size() - 9)).error().fault == Fault::integrity);
    const char* const before = std::getenv("TMPDIR");
    const std::string kept = before != nullptr ? before : "";
    ::setenv("TMPDIR", (scratch / "missing").c_str(), 1);
    const auto nowhere = piped(text);
    before != nullptr ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
    REQUIRE_FALSE(nowhere.ok());
    CHECK(nowhere.error().fault == Fault::file);
    CHECK(nowhere.error().remedy.find("TMPDIR") != std::string::npos);
}

TEST_CASE("a receipt that was changed at any byte is refused") {
    const Scratch scratch;
    const std::string text = written(fresh_key(scratch, "own"), {"a", "b\xff"}).text();
    REQUIRE(opened(text).ok());
    for (std::size_t at = 0; at < text.size(); ++at) {
        for (const char bit : {'\x01', '\x20', '\x80'}) {
            std::string other = text;
            other[at] = static_cast<char>(other[at] ^ bit);
            INFO("byte " << at << " of " << text.size() << ", bit " << int{bit});
            const auto reader = opened(other);
            REQUIRE_FALSE(reader.ok());
            REQUIRE((reader.error().fault == Fault::integrity));
        }
    }
}

TEST_CASE("a receipt that was cut short, or goes on, is refused") {
    const Scratch scratch;
    const Written whole = written(fresh_key(scratch, "own"), {"a", "b"});
    const std::string text = whole.text();
    for (std::size_t size = 0; size < text.size(); ++size) {
        INFO(size);
        REQUIRE_FALSE(opened(text.substr(0, size)).ok());
    }
    REQUIRE_FALSE(opened(text + "\n").ok());
    REQUIRE_FALSE(opened(text + "x").ok());
    REQUIRE_FALSE(opened(text + whole.seal + "\n").ok());
    REQUIRE_FALSE(opened(whole.lines + whole.seal + "\n" + whole.statement + "\n").ok());
    REQUIRE_FALSE(opened(whole.lines + to_line(file_line("c")) + "\n" + whole.statement + "\n" +
                         whole.seal + "\n")
                      .ok());
    for (const std::string& other :
         {std::string(), std::string(1 << 20, 'x'), std::string("a\n{}\n")})
        REQUIRE((opened(other).error().fault == Fault::usage));
    REQUIRE_FALSE(opened(whole.lines + std::string(1 << 20, 'x') + "\n").ok());
}

TEST_CASE("another key's signature does not make a receipt the first one's") {
    const Scratch scratch;
    const Written mine = written(fresh_key(scratch, "own"), {"a"});
    const io::TlsContext other = fresh_key(scratch, "other");
    const Written theirs = written(other, {"a"});
    // Their key under my statement, also where they signed that very statement.
    REQUIRE_FALSE(opened(mine.lines + mine.statement + "\n" + theirs.seal + "\n").ok());
    const auto signature = io::sign(other, receipt::signed_text(mine.statement));
    REQUIRE(signature.ok());
    const std::string seal = to_line(receipt::Seal{signature->bytes, signature->public_key});
    REQUIRE_FALSE(opened(mine.lines + mine.statement + "\n" + seal + "\n").ok());
    // A receipt of their own is good, and tells whose it is.
    const auto reader = opened(theirs.text());
    REQUIRE(reader.ok());
    CHECK(reader->key() == io::certificate_fingerprint(scratch / "other.pem").value());
}

TEST_CASE("a receipt has its name only when it is whole") {
    const Scratch scratch;
    const std::string path = scratch / "receipt";
    {
        auto file = ReceiptFile::begin(path);
        REQUIRE(file.ok());
        (*file)->take("one\n");
        CHECK_FALSE(std::filesystem::exists(path));
        const std::filesystem::directory_iterator beside(std::filesystem::path(path).parent_path());
        CHECK(ports::is_partial_name(beside->path().filename().string()));
    }
    CHECK(std::filesystem::is_empty(std::filesystem::path(path).parent_path()));
    auto file = ReceiptFile::begin(path);
    REQUIRE(file.ok());
    (*file)->take("one\n");
    (*file)->take("two\n");
    REQUIRE((*file)->finish().ok());
    CHECK(content_of(path) == "one\ntwo\n");
    CHECK_FALSE(ReceiptFile::begin(scratch / "nowhere/receipt").ok());
}

TEST_CASE("what a server signs is what was done, or the difference is told") {
    const std::int64_t day = 86'400'000'000'000;
    const receipt::Statement known{.server = "u@h:1",
                                   .account = "u",
                                   .place = "/in",
                                   .destination = {},
                                   .into_directory = true,
                                   .tally = {.files = 2, .adopted = 1, .bytes = 3},
                                   .time_ns = 100 * day,
                                   .key = {}};
    const auto told = [&](auto change) {
        receipt::Statement other = known;
        other.transfer = 7;
        other.time_ns += day / 2;  // clocks differ
        change(other);
        return difference(other, known);
    };
    CHECK(told([](receipt::Statement&) {}).empty());
    CHECK(told([](receipt::Statement& s) { s.tally.lines[0] = std::byte{1}; }) ==
          "digest of the files");
    CHECK(told([](receipt::Statement& s) { s.tally.files = 3; }) == "number of files");
    CHECK(told([](receipt::Statement& s) { s.tally.adopted = 0; }) == "number of adopted files");
    CHECK(told([](receipt::Statement& s) { s.tally.bytes = 4; }) == "number of bytes");
    CHECK(told([](receipt::Statement& s) { s.direction = session::Direction::get; }) ==
          "direction");
    CHECK(told([](receipt::Statement& s) { s.server = "u@h:2"; }) == "name of the server");
    CHECK(told([](receipt::Statement& s) { s.account = "v"; }) == "account");
    CHECK(told([](receipt::Statement& s) { s.place = "/out"; }) == "place");
    CHECK(told([](receipt::Statement& s) { s.destination = "/home"; }) == "destination");
    CHECK(told([](receipt::Statement& s) { s.into_directory = false; }) ==
          "way to land in the target");
}

TEST_CASE("of clocks more than a day apart it is told what each says") {
    constexpr std::int64_t kDay = 86'400'000'000'000;
    receipt::Statement known, other;
    known.time_ns = 100 * kDay;
    for (const std::int64_t apart : {std::int64_t{0}, kDay, -kDay}) {
        other.time_ns = known.time_ns + apart;
        CHECK(clocks_apart(other, known).empty());
    }
    other.time_ns = known.time_ns + 2 * kDay;
    CHECK(clocks_apart(other, known) ==
          "the server's clock says 1970-04-13T00:00:00Z, this machine's 1970-04-11T00:00:00Z");
    for (const std::int64_t wild : {std::int64_t{0}, std::numeric_limits<std::int64_t>::max(),
                                    std::numeric_limits<std::int64_t>::min()}) {
        other.time_ns = wild;
        CHECK_FALSE(clocks_apart(other, known).empty());
    }
}

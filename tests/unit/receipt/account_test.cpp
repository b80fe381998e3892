#include "common/receipt/account.h"

#include "common/transfer/sync_plan.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::receipt;
using namespace lambda::transfer;
using Kind = OfferRecord::Kind;

namespace {

constexpr Digest kDigest{std::byte{7}};

// What an account says of these records.
struct Kept {
    std::string lines;
    Tally tally;

    explicit Kept(std::initializer_list<Record> records, bool receives = false) {
        Account account(receives, [this](std::string_view some) { lines += some; });
        for (const Record& record : records) account.passes(record);
        tally = account.finish();
        CHECK(tally.lines == sha256(std::as_bytes(std::span(lines))));
    }
    // Of the files, in order.
    std::vector<FileLine> files() const {
        std::vector<FileLine> found;
        for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1) {
            const auto line = parse_line(lines.substr(at, lines.find('\n', at) - at));
            if (line && std::holds_alternative<FileLine>(*line))
                found.push_back(std::get<FileLine>(*line));
        }
        return found;
    }
};

Record file(FileNumber number, std::string name) {
    FileRecord record;
    record.file = number;
    record.size = 10 + number;
    record.mtime_ns = number;
    record.name = std::move(name);
    return record;
}

Record closed(FileNumber number) {
    return CloseRecord{number, 10 + number, number, kDigest};
}

Record done(FileNumber number, const Digest& digest = kDigest) {
    return DoneRecord{number, digest};
}

Record offer(Kind kind, std::string leaf) {
    OfferRecord record;
    record.kind = kind;
    record.metadata.size = 3;
    record.metadata.mtime_ns = 4;
    record.leaf = std::move(leaf);
    return record;
}

std::uint8_t code(Verdict verdict) {
    return static_cast<std::uint8_t>(verdict);
}

}  // namespace

TEST_CASE("an account has the files that are done, in that order, and no others") {
    const Kept kept({file(0, "a"), closed(0), file(1, "b"), file(2, "refused"), closed(2),
                     closed(1), file(3, "void"), VoidRecord{3, {0, 13}, Fault::file, "gone"},
                     RefuseRecord{2, Fault::file, "full", ""}, done(1), done(0), done(2), done(3),
                     done(9, {})});
    const auto files = kept.files();
    REQUIRE(files.size() == 2);
    CHECK(files[0].path == "b");
    CHECK(files[1].path == "a");
    CHECK(files[1].xxh3 == kDigest);
    CHECK_FALSE(files[1].adopted);
    CHECK(kept.tally.files == 2);
    CHECK(kept.tally.adopted == 0);
    CHECK(kept.tally.bytes == 10 + 11);
    CHECK(kept.lines.starts_with(std::string(kFirstLine) + "\n"));
}

TEST_CASE("a file whose digests differ is not done") {
    CHECK(Kept({file(0, "a"), closed(0), done(0, {})}).files().empty());
    CHECK(Kept({file(0, "a"), done(0)}).files().empty());
}

TEST_CASE("a source that fails after its CLOSE may be done at the receiver all the same") {
    const std::initializer_list<Record> records = {
        file(0, "a"), closed(0), VoidRecord{0, {0, 10}, Fault::file, "gone"}, done(0)};
    CHECK(Kept(records).files().size() == 1);
    // Who hears VOID before it said DONE never says it, and keeps nothing.
    CHECK(Kept(records, true).files().empty());
}

TEST_CASE("nothing is kept of what is blocked") {
    const Kept kept({offer(Kind::file, "a"), offer(Kind::file, "b"),
                     VerdictsRecord{0, {code(Verdict::blocked), code(Verdict::stands)}},
                     SettledRecord{0, code(Verdict::stands)}});
    REQUIRE(kept.files().size() == 1);
    CHECK(kept.files()[0].path == "b");
}

TEST_CASE("a strong digest stands in the line") {
    Sha256 strong{};
    strong.fill(std::byte{9});
    const Kept kept({file(0, "a"), StrongRecord{0, strong}, closed(0), done(0)});
    CHECK(kept.files().at(0).sha256 == strong);
}

TEST_CASE("what stood there is adopted under its whole name, with digests where both read it") {
    constexpr Sha256 strong{std::byte{9}};
    const Kept kept(
        {offer(Kind::directory, "."), offer(Kind::file, "top"), offer(Kind::directory, "d"),
         offer(Kind::link, "link"), offer(Kind::file, "same"), offer(Kind::file, "other"),
         offer(Kind::leave, ""), offer(Kind::file, "changed"), offer(Kind::skipped, "pipe"),
         offer(Kind::leave, ""), offer(Kind::file, "alone"),
         VerdictsRecord{0, {code(Verdict::attributes), code(Verdict::stands)}},
         VerdictsRecord{
             2,
             {code(Verdict::stands), code(Verdict::stands), code(Verdict::similar),
              code(Verdict::similar), code(Verdict::changed), code(Verdict::attributes)}},
         DigestRecord{4, DigestRecord::What::digest, {kDigest, strong}},
         DigestRecord{5, DigestRecord::What::none, {}}, SettledRecord{4, code(Verdict::stands)},
         SettledRecord{5, code(Verdict::changed)}});
    const auto files = kept.files();
    REQUIRE(files.size() == 3);
    CHECK(files[0].path == "top");
    CHECK_FALSE(files[0].xxh3);
    CHECK(files[1].path == "alone");
    CHECK(files[2].path == "d/same");
    CHECK(files[2].xxh3 == kDigest);
    CHECK(files[2].sha256 == strong);
    CHECK(kept.tally.adopted == 3);
    CHECK(kept.tally.bytes == 9);
}

TEST_CASE("what was asked for stands in the account") {
    const Kept kept({WantRecord{"runs/*", true, false}});
    CHECK_THAT(kept.lines, Catch::Contains(R"({"wanted":"runs/*","pattern":true})"));
}

TEST_CASE("records that make no sense are survived") {
    const Kept kept({offer(Kind::leave, ""), done(7), closed(7), VerdictsRecord{5, {0, 0, 0, 200}},
                     SettledRecord{3, 0}, DigestRecord{3, DigestRecord::What::digest, {kDigest}},
                     StrongRecord{8, Sha256{}}, RefuseRecord{9, Fault::file, "", ""}});
    CHECK(kept.files().empty());
}

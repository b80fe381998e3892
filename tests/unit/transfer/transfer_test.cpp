#include <random>

#include "common/base/hex.h"
#include "common/transfer/digest.h"
#include "common/transfer/record.h"
#include "common/transfer/record_type.h"
#include "common/transfer/set_stream.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::transfer;

namespace {

std::vector<std::byte> bytes_of(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> bytes(count);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    return bytes;
}

Digest digest_in_order(const std::vector<std::byte>& file) {
    FileDigest digest(file.size());
    for (std::size_t at = 0; at < file.size(); at += kLeafBytes) {
        digest.add_leaf(at, leaf_digest(ByteView(file).subspan(
                                at, std::min<std::size_t>(kLeafBytes, file.size() - at))));
    }
    return digest.finish();
}

FileRecord file_record(std::string name) {
    FileRecord record;
    record.size = 10;
    record.name = std::move(name);
    record.data = {{0, 10}};
    return record;
}

bool survives(const Record& record) {
    std::vector<std::byte> out;
    append_record(out, record);
    RecordReader reader;
    reader.put(out);
    return reader.next().has_value() && !reader.broken();
}

}  // namespace

TEST_CASE(
    "a file's digest does not depend on the order of its leaves, and does on everything else") {
    const auto file = bytes_of(5 * kLeafBytes + 77, 1);
    const Digest expected = digest_in_order(file);
    FileDigest backwards(file.size());
    for (int leaf = 5; leaf >= 0; --leaf) {
        const std::size_t at = static_cast<std::size_t>(leaf) * kLeafBytes;
        CHECK_FALSE(backwards.complete());
        backwards.add_leaf(at, leaf_digest(ByteView(file).subspan(
                                   at, std::min<std::size_t>(kLeafBytes, file.size() - at))));
    }
    REQUIRE(backwards.complete());
    CHECK(backwards.finish() == expected);
    auto other = file;
    other[3 * kLeafBytes] ^= std::byte{1};
    CHECK(digest_in_order(other) != expected);
    auto swapped = file;
    std::swap_ranges(swapped.begin(), swapped.begin() + kLeafBytes, swapped.begin() + kLeafBytes);
    CHECK(digest_in_order(swapped) != expected);
    CHECK(to_hex(digest_in_order({})).size() == 32);
}

TEST_CASE("the digests of a file pass the set stream whole, or not at all") {
    DigestRecord record{.offer = 7, .digests = {Digest{std::byte{1}}, Sha256{std::byte{2}}}};
    std::vector<std::byte> out;
    append_record(out, record);
    RecordReader reader;
    reader.put(out);
    const auto read = reader.next();
    REQUIRE(read);
    CHECK(std::get<DigestRecord>(*read).what == DigestRecord::What::digest);
    CHECK(std::get<DigestRecord>(*read).digests == record.digests);
    record.digests.sha256.reset();
    CHECK(survives(record));
    constexpr std::size_t what = kRecordHeader + 4;
    const auto broken = [&](std::byte says, std::size_t bytes) {
        std::vector<std::byte> other = out;
        other[what] = says;
        other.resize(bytes);
        other[3] = static_cast<std::byte>(bytes - kRecordHeader);
        RecordReader again;
        again.put(other);
        return !again.next() && again.broken();
    };
    CHECK_FALSE(broken(std::byte{3}, out.size()));
    CHECK(broken(std::byte{3}, out.size() - 1));
    CHECK(broken(std::byte{3}, out.size() + 1));
    CHECK(broken(std::byte{0}, out.size()));
    CHECK(broken(std::byte{4}, out.size()));
}

TEST_CASE("zeros said as a hole have the digest of zeros read") {
    std::vector<std::byte> file(7 * kLeafBytes + 5);
    file[2 * kLeafBytes + 1] = std::byte{9};
    FileDigest sparse(file.size());
    sparse.add_zeros(3 * kLeafBytes, file.size());
    sparse.add_zeros(0, 2 * kLeafBytes);
    sparse.add_leaf(2 * kLeafBytes,
                    leaf_digest(ByteView(file).subspan(2 * kLeafBytes, kLeafBytes)));
    REQUIRE(sparse.complete());
    CHECK(sparse.finish() == digest_in_order(file));
}

TEST_CASE("a hole of any size is digested a bounded number of leaves at a time") {
    const bool strong = GENERATE(false, true);
    constexpr std::uint64_t kLeaves = 5 * FileDigest::kZerosAtOnce;
    constexpr std::uint64_t kSize = kLeaves * kLeafBytes + 9, kData = kSize / 2 / kLeafBytes;
    const Digest data = leaf_digest(bytes_of(kLeafBytes, 3)), zeros = zero_leaf_digest(kLeafBytes);
    const Sha256 strong_data = sha256(bytes_of(kLeafBytes, 3)),
                 strong_zeros = zero_leaf_sha256(kLeafBytes), strong_end = zero_leaf_sha256(9);
    FileDigest whole(kSize, strong), sparse(kSize, strong);
    for (std::uint64_t leaf = 0; leaf < kLeaves; ++leaf) {
        const bool hole = leaf != kData;
        whole.add_leaf(leaf * kLeafBytes, hole ? zeros : data,
                       strong ? &(hole ? strong_zeros : strong_data) : nullptr);
    }
    whole.add_leaf(kLeaves * kLeafBytes, zero_leaf_digest(9), strong ? &strong_end : nullptr);
    sparse.add_zeros(0, kData * kLeafBytes);
    sparse.add_zeros((kData + 1) * kLeafBytes, kSize);
    CHECK(sparse.lags());
    sparse.add_leaf(kData * kLeafBytes, data, strong ? &strong_data : nullptr);
    unsigned steps = 0;
    for (; sparse.lags(); ++steps) sparse.advance(1000);
    CHECK(steps == (kLeaves - FileDigest::kZerosAtOnce + 999) / 1000);
    REQUIRE(sparse.complete());
    CHECK(sparse.finish() == whole.finish());
    if (strong) CHECK(sparse.finish_strong() == whole.finish_strong());
}

TEST_CASE("the first step over a hole without end ends") {
    FileDigest digest(INT64_MAX);
    digest.add_zeros(0, INT64_MAX);
    digest.advance(1000);
    CHECK(digest.lags());
    CHECK_FALSE(digest.complete());
}

TEST_CASE("a strong digest does not depend on the order of leaves, nor on how zeros are said") {
    std::vector<std::byte> file = bytes_of(5 * kLeafBytes + 77, 1);
    std::fill(file.begin() + 2 * kLeafBytes, file.begin() + 4 * kLeafBytes, std::byte{0});
    const auto leaf = [&](std::size_t at) {
        return ByteView(file).subspan(at, std::min<std::size_t>(kLeafBytes, file.size() - at));
    };
    const auto add = [&](FileDigest& digest, std::size_t number) {
        const ByteView bytes = leaf(number * kLeafBytes);
        const Sha256 strong = sha256(bytes);
        digest.add_leaf(number * kLeafBytes, leaf_digest(bytes), &strong);
    };
    FileDigest in_order(file.size(), true), otherwise(file.size(), true);
    for (std::size_t number = 0; number < 6; ++number) add(in_order, number);
    for (const std::size_t number : {5, 4, 1}) add(otherwise, number);
    otherwise.add_zeros(2 * kLeafBytes, 4 * kLeafBytes);
    add(otherwise, 0);
    REQUIRE(in_order.complete());
    REQUIRE(otherwise.complete());
    CHECK(in_order.finish_strong() == otherwise.finish_strong());
    CHECK(in_order.finish() == digest_in_order(file));
    FileDigest other(file.size(), true);
    file[3] ^= std::byte{1};
    for (std::size_t number = 0; number < 6; ++number) add(other, number);
    CHECK(other.finish_strong() != in_order.finish_strong());
}

TEST_CASE("names that could leave the target are refused in a record") {
    CHECK(survives(file_record("a")));
    CHECK(survives(file_record("a/b\nc/\xff")));
    CHECK(survives(file_record("..a")));
    for (const char* name : {"", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/.."}) {
        INFO(name);
        CHECK_FALSE(survives(file_record(name)));
    }
    CHECK_FALSE(survives(file_record(std::string("a\0b", 3))));
    // What a disk keeps beside other files while they are received.
    const std::string hash = "0123456789abcdef0123456789abcdef";
    CHECK_FALSE(survives(file_record(".lambda-" + hash + ".part")));
    CHECK_FALSE(survives(file_record("a/.lambda-" + hash + ".journal")));
    CHECK_FALSE(survives(file_record(".lambda-" + hash + ".part/b")));
    CHECK(survives(file_record(".lambda-" + hash.substr(1) + ".part")));
    CHECK_FALSE(survives(file_record(".lambda-" + hash + ".parts")));
    CHECK(survives(file_record(".lambda-" + hash + ".partss")));
    CHECK_FALSE(survives(file_record(std::string(4097, 'a'))));
}

TEST_CASE("what of a wanted name was found before is a part of it, and of a file") {
    const WantRecord want{.name = "/a/b/c", .found = 3};
    std::vector<std::byte> out;
    append_record(out, want);
    RecordReader reader;
    reader.put(out);
    const auto read = reader.next();
    REQUIRE(read);
    CHECK(std::get<WantRecord>(*read) == want);
    CHECK(survives(WantRecord{.name = "c", .found = 1}));
    CHECK_FALSE(survives(WantRecord{.name = "c", .found = 2}));
    CHECK_FALSE(survives(WantRecord{.name = "/a/b/", .found = 2}));
    CHECK_FALSE(survives(WantRecord{.name = "/a/*", .pattern = true, .found = 1}));
    CHECK_FALSE(survives(WantRecord{.name = "/a/b", .contents = true, .found = 1}));
}

TEST_CASE("texts of the peer are cut to what a person reads") {
    const std::string longest(65535, 't');
    const auto came = [](const Record& record) {
        std::vector<std::byte> out;
        append_record(out, record);
        // As a peer that does not cut them: the writer does.
        RecordReader reader;
        reader.put(out);
        return *reader.next();
    };
    CHECK(std::get<SkipRecord>(came(SkipRecord{"a", longest})).why.size() == 2048);
    // Those are not cut where they are written.
    CHECK(std::get<SkipRecord>(came(SkipRecord{longest, "w"})).name.size() == kMaxNameBytes);
    std::vector<std::byte> raw;
    ByteWriter writer(raw);
    writer.u8(0x23);  // REFUSE
    writer.u24(4 + 1 + 2 + 65535 + 2 + 65535);
    writer.u32(7);
    writer.u8(1);
    writer.string16(longest);
    writer.string16(longest);
    RecordReader reader;
    reader.put(raw);
    const auto refuse = std::get<RefuseRecord>(*reader.next());
    CHECK(refuse.message == longest.substr(0, 2048));
    CHECK(refuse.remedy == longest.substr(0, 2048));
}

// A copy's SYNC takes the rules of its WALK, and has more beside them.
TEST_CASE("rules are taken up to 256 KiB of patterns, and not to the end of a record") {
    WalkRecord walk;
    walk.rules.assign(kMaxRuleBytes / 32768, {.include = true, .pattern = std::string(32768, 'r')});
    CHECK(survives(walk));
    CHECK(survives(SyncRecord{.erase = true, .rules = walk.rules}));
    walk.rules.push_back({.include = false, .pattern = "r"});
    CHECK_FALSE(survives(walk));
    CHECK_FALSE(survives(SyncRecord{.erase = true, .rules = walk.rules}));
}

TEST_CASE("ranges of data that overlap, run backwards or leave the file are refused") {
    FileRecord record = file_record("a");
    record.size = 10 * kLeafBytes;
    const std::vector<std::vector<Range>> bad{{{kLeafBytes, kLeafBytes}},
                                              {{5, kLeafBytes}},
                                              {{0, 2 * kLeafBytes}, {kLeafBytes, 3 * kLeafBytes}},
                                              {{0, 11 * kLeafBytes}},
                                              {{0, kLeafBytes + 1}}};
    for (const auto& data : bad) {
        record.data = data;
        CHECK_FALSE(survives(record));
    }
    record.data = {{0, kLeafBytes}, {4 * kLeafBytes, 10 * kLeafBytes}};
    CHECK(survives(record));
}

TEST_CASE("more extended attributes than a record may have are refused") {
    FileRecord record = file_record("a");
    auto& extended = record.archived.emplace().extended;
    extended.push_back({"user.x", std::string(kMaxExtendedBytes - 6, 'x')});
    CHECK(survives(record));
    extended.push_back({"u", ""});
    CHECK_FALSE(survives(record));
    extended.assign(kMaxExtended, {"u", "x"});
    CHECK(survives(record));
    extended.push_back({"u", "x"});
    CHECK_FALSE(survives(record));
}

TEST_CASE("a receiver that takes no records holds the sender of a stream back") {
    StreamSender sender;
    StreamReceiver receiver;
    const auto carry = [&] {
        while (const auto piece = sender.next_piece()) receiver.handle_piece(*piece);
    };
    std::size_t put = 0, got = 0;
    for (; sender.has_room(); ++put) sender.put(WantRecord{std::string(1000, 'n')});
    carry();
    CHECK(receiver.consumed() == 0);
    CHECK_FALSE(receiver.ack_due(true));
    REQUIRE(receiver.next());
    CHECK(receiver.consumed() > 1000);
    CHECK(receiver.ack_due(true));
    CHECK_FALSE(receiver.flooded());
    for (++got; receiver.next(); ++got) {
    }
    CHECK(got == put);
    REQUIRE(sender.handle_consumed(receiver.consumed()));
    CHECK(sender.all_consumed());
    // One that does not care.
    for (std::size_t bytes = 0; bytes <= 8 * kStreamWindow; bytes += 1000)
        sender.put(WantRecord{std::string(1000, 'n')});
    CHECK_FALSE(sender.unheard());
    carry();
    CHECK(receiver.flooded());
    for (std::size_t bytes = 0; bytes <= kMostUnheard; bytes += 1000)
        sender.put(WantRecord{std::string(1000, 'n')});
    CHECK(sender.unheard());
}

TEST_CASE("a stream goes on over connections that die") {
    StreamSender sender;
    StreamReceiver receiver;
    std::mt19937 random(3);
    std::size_t put = 0, got = 0;
    while (got < 500) {
        if (put < 500 && sender.has_room()) sender.put(WantRecord{"name" + std::to_string(put++)});
        if (random() % 10 == 0) sender.rewind();
        if (const auto piece = sender.next_piece(); piece && random() % 4 != 0)
            receiver.handle_piece(*piece);
        while (const auto record = receiver.next()) {
            CHECK(std::get<WantRecord>(*record).name == "name" + std::to_string(got++));
        }
        if (random() % 3 == 0) REQUIRE(sender.handle_consumed(receiver.consumed()));
        if (!sender.has_piece() && !sender.all_consumed()) sender.rewind();
    }
    REQUIRE(sender.handle_consumed(receiver.consumed()));
    CHECK(sender.all_consumed());
    CHECK_FALSE(sender.handle_consumed(receiver.consumed() + 1));
}

// Bytes that change in memory between disk and cipher: found by digest, and that leaf alone goes
// again.
#include "tests/support/catch.h"
#include "tools/sim/run.h"

using namespace lambda;
using namespace lambda::simulation;

namespace {

constexpr std::size_t kMiB = 1u << 20;

// Seals another text than it was given: once for each place in `flips`, or each time.
class FlippingCipher final : public ports::PacketCipher {
  public:
    struct Flips {
        std::map<std::uint64_t, unsigned> left;  // by place of a byte: how many times
        unsigned made = 0;
    };
    FlippingCipher(std::unique_ptr<ports::PacketCipher> cipher, Flips& flips)
        : cipher_(std::move(cipher)), flips_(flips) {}
    std::size_t tag_bytes() const override { return cipher_->tag_bytes(); }
    void seal(std::span<const ports::SealJob> jobs) override {
        for (ports::SealJob job : jobs) {
            std::vector<std::byte> text(job.text.begin(), job.text.end());
            const std::uint64_t place = load_u64(job.packet + 8);
            for (auto& [at, times] : flips_.left) {
                if (times == 0 || text.empty() || at < place || at >= place + text.size()) continue;
                text[at - place] ^= std::byte{0x10};
                --times;
                ++flips_.made;
            }
            job.text = text;
            cipher_->seal({&job, 1});
        }
    }
    void open(std::span<ports::OpenJob> jobs) override { cipher_->open(jobs); }

  private:
    std::unique_ptr<ports::PacketCipher> cipher_;
    Flips& flips_;
};

struct Flipped {
    Flipped(session::Direction direction, std::map<std::uint64_t, unsigned> wanted,
            std::uint32_t slots, std::uint32_t block = kMiB, double loss = 0)
        : flips{std::move(wanted), 0} {
        Options options;
        options.terms.direction = direction;
        options.terms.initial_rate = BitRate{200e6};
        options.terms.highest_rate = BitRate{1e9};
        options.terms.block = block;
        options.slots = slots;
        options.forward.loss = loss;
        options.forward.largest = 1472;
        options.adjust = [this](bool sends, engine::Setup& setup) {
            if (!sends) return;
            for (engine::StripeCiphers& pair : setup.ciphers)
                pair.data = std::make_unique<FlippingCipher>(std::move(pair.data), this->flips);
        };
        run = std::make_unique<Run>(
            7, options,
            std::vector<transfer::SourceName>{{"big", "big"}, {"a", "a"}, {"b", "b"}, {"c", "c"}},
            transfer::Target{"dir", true});
        run->source.files["big"] = {random_bytes(12 * kMiB + 77, 1), 5, 0644};
        for (const char* name : {"a", "b", "c"})
            run->source.files[name] = {random_bytes(10'000, 2), 6, 0600};
    }
    bool identical(const std::string& name) const {
        return run->target.files.contains("dir/" + name) &&
               run->target.files.at("dir/" + name).bytes == run->source.files.at(name).bytes;
    }
    FlippingCipher::Flips flips;
    std::unique_ptr<Run> run;
};

}  // namespace

TEST_CASE("a leaf that was damaged in memory goes again, alone") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    const auto slots = GENERATE(2u, 4u, 32u);
    const auto loss = GENERATE(0.0, 0.02);
    INFO(to_string(direction) << ", " << slots << " slots, loss " << loss);
    // In the first leaf, thrice in the middle, in the last, and in a packed file.
    Flipped flipped(
        direction,
        {{100, 1}, {5 * kMiB + 1, 3}, {7 * kMiB, 1}, {12 * kMiB + 5, 1}, {13 * kMiB + 1, 1}}, slots,
        kMiB, loss);
    REQUIRE(flipped.run->run());
    CHECK(flipped.flips.made == 7);
    for (const char* name : {"big", "a", "b", "c"}) CHECK(flipped.identical(name));
    for (const engine::Outcome* outcome :
         {&flipped.run->sender->outcome(), &flipped.run->receiver->outcome()}) {
        CHECK_FALSE(outcome->cut);
        CHECK(outcome->verified == 4);
        CHECK(outcome->failed == 0);
        // A damaged packet that was lost, or found too large for the path, did no harm.
        CHECK(outcome->leaves_again <= 7);
        CHECK(outcome->leaves_again >= (loss == 0 ? 5 : 1));
    }
    const std::uint64_t all = 12 * kMiB + 77 + 30'000;
    CHECK(flipped.run->receiver->outcome().bytes <=
          all + flipped.run->receiver->outcome().leaves_again * kMiB);
    CHECK(flipped.run->source.open_files() == 0);
    CHECK(flipped.run->target.open_files() == 0);
}

TEST_CASE("of a block with several leaves only the damaged ones go again") {
    Flipped flipped(session::Direction::put, {{kMiB + 9, 1}, {3 * kMiB + 9, 2}}, 8, 4 * kMiB);
    REQUIRE(flipped.run->run());
    CHECK(flipped.identical("big"));
    CHECK(flipped.run->receiver->outcome().bytes == 12 * kMiB + 77 + 30'000 + 3 * kMiB);
}

TEST_CASE("a leaf that is damaged each time fails its file, and no other") {
    for (const auto direction : {session::Direction::put, session::Direction::get}) {
        Flipped flipped(direction, {{5 * kMiB + 1, 1000}}, 4);
        REQUIRE(flipped.run->run());
        CHECK(flipped.flips.made == 4);
        for (const char* name : {"a", "b", "c"}) CHECK(flipped.identical(name));
        CHECK_FALSE(flipped.run->target.files.contains("dir/big"));
        for (const engine::Outcome* outcome :
             {&flipped.run->sender->outcome(), &flipped.run->receiver->outcome()}) {
            CHECK_FALSE(outcome->cut);
            REQUIRE(outcome->failures.size() == 1);
            CHECK(outcome->failures[0].name == "big");
            CHECK(outcome->failures[0].error.fault == Fault::integrity);
        }
        CHECK(flipped.run->source.open_files() == 0);
        CHECK(flipped.run->target.open_files() == 0);
    }
}

TEST_CASE("a source that changes before a damaged leaf is read again fails as changed") {
    Flipped flipped(session::Direction::put, {{12 * kMiB + 5, 1}}, 32);
    // Everything is read and closed by the time the damage is known.
    bool changed = false;
    std::function<void()> watch = [&] {
        if (flipped.run->receiver->outcome().leaves_again == 0)
            return flipped.run->world.after(std::chrono::microseconds(50), watch);
        changed = true;
        flipped.run->source.files["big"].mtime_ns = 9;
    };
    flipped.run->world.after(std::chrono::microseconds(50), watch);
    REQUIRE(flipped.run->run());
    CHECK(changed);
    CHECK_FALSE(flipped.run->target.files.contains("dir/big"));
    REQUIRE(flipped.run->sender->outcome().failures.size() == 1);
    CHECK(flipped.run->sender->outcome().failures[0].error.message ==
          "the file changed while it was sent");
}

TEST_CASE("a source that is written to as a damaged leaf is read again fails as changed") {
    Flipped flipped(session::Direction::put, {{12 * kMiB + 5, 1}}, 32);
    unsigned reads = 0;
    flipped.run->source.on_read = [&](const std::string& path, std::uint64_t offset) {
        if (path != "big" || offset != 12 * kMiB || ++reads < 2) return;
        MemoryFile& big = flipped.run->source.files["big"];
        big.bytes[12 * kMiB + 9] ^= std::byte{1};
        big.ctime_ns = 9;  // the time of its content was put back
    };
    REQUIRE(flipped.run->run());
    CHECK(reads == 2);
    for (const char* name : {"a", "b", "c"}) CHECK(flipped.identical(name));
    CHECK_FALSE(flipped.run->target.files.contains("dir/big"));
    REQUIRE(flipped.run->sender->outcome().failures.size() == 1);
    CHECK(flipped.run->sender->outcome().failures[0].error.message ==
          "the file changed while it was sent");
    CHECK(flipped.run->source.open_files() == 0);
    CHECK(flipped.run->target.open_files() == 0);
}

TEST_CASE(
    "a leaf that its disk gives out differently the second time fails its file, and no other") {
    Flipped flipped(session::Direction::put, {{5 * kMiB + 1, 1}}, 4);
    unsigned reads = 0;
    flipped.run->source.on_read = [&](const std::string& path, std::uint64_t offset) {
        if (path != "big" || offset != 5 * kMiB || ++reads < 2) return;
        flipped.run->source.files["big"].bytes[5 * kMiB + 9] ^= std::byte{1};  // time and size stay
    };
    REQUIRE(flipped.run->run());
    CHECK(reads == 2);
    for (const char* name : {"a", "b", "c"}) CHECK(flipped.identical(name));
    for (const char* name : {"dir/big", "dir/big.part"})
        CHECK_FALSE(flipped.run->target.files.contains(name));
    for (const engine::Outcome* outcome :
         {&flipped.run->sender->outcome(), &flipped.run->receiver->outcome()}) {
        REQUIRE(outcome->failures.size() == 1);
        CHECK(outcome->failures[0].error.fault == Fault::integrity);
    }
}

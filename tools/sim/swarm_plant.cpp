#include "tools/sim/swarm_plant.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace lambda::simulation {
namespace {

using namespace std::chrono_literals;

constexpr double kEarlyWrites = 0.05;
constexpr double kStaleReads = 0.05;
constexpr double kLostFrames = 0.002;
constexpr double kLenientOpens = 0.005;

// Passes everything through.
class PlainDisk : public ports::Disk {
  public:
    explicit PlainDisk(ports::Disk& disk) : disk_(disk) {}
    std::uint32_t slot_count() const override { return disk_.slot_count(); }
    ByteSpan slot(std::uint32_t index) override { return disk_.slot(index); }
    void open_source(ports::DiskTag tag, const ports::SourceFile& file,
                     std::uint64_t grain) override {
        disk_.open_source(tag, file, grain);
    }
    bool read(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset, std::uint32_t slot,
              std::size_t at, std::size_t bytes) override {
        return disk_.read(tag, file, offset, slot, at, bytes);
    }
    bool copies_here(ports::DiskFile file) override { return disk_.copies_here(file); }
    void check_source(ports::DiskTag tag, ports::DiskFile file) override {
        disk_.check_source(tag, file);
    }
    void find_partials(ports::DiskTag tag, const std::string& path, bool below) override {
        disk_.find_partials(tag, path, below);
    }
    void create_target(ports::DiskTag tag, const ports::TargetName& name, std::uint64_t size,
                       std::vector<Range> holes, Keep keep) override {
        disk_.create_target(tag, name, size, std::move(holes), std::move(keep));
    }
    void sync(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset,
              std::vector<std::byte> image) override {
        disk_.sync(tag, file, offset, std::move(image));
    }
    bool write(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset, std::uint32_t slot,
               std::size_t at, std::size_t bytes) override {
        return disk_.write(tag, file, offset, slot, at, bytes);
    }
    void flush(ports::DiskTag tag, ports::DiskFile file) override { disk_.flush(tag, file); }
    void commit(ports::DiskTag tag, ports::DiskFile file,
                const ports::FileMetadata& metadata) override {
        disk_.commit(tag, file, metadata);
    }
    void make_entry(ports::DiskTag tag, ports::Making making) override {
        disk_.make_entry(tag, std::move(making));
    }
    void close(ports::DiskFile file) override { disk_.close(file); }
    void submit() override { disk_.submit(); }
    std::span<ports::DiskEvent> poll() override { return disk_.poll(); }

  protected:
    ports::Disk& disk_;
};

class EarlyDisk final : public PlainDisk {
  public:
    EarlyDisk(ports::Disk& disk, World& world, Alarm& owner)
        : PlainDisk(disk), world_(world), owner_(owner) {}
    bool write(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset, std::uint32_t slot,
               std::size_t at, std::size_t bytes) override {
        if (!world_.chance(kEarlyWrites)) return disk_.write(tag, file, offset, slot, at, bytes);
        ended_.push_back({.tag = tag, .bytes = bytes});
        owner_.set(Time{});
        late_.insert(file);
        world_.after(50ms, [this, file, offset, slot, at, bytes] {
            // Nobody waits for it: the file may be gone.
            if (!late_.contains(file)) return;
            static_cast<void>(disk_.write(kOwn, file, offset, slot, at, bytes));
            late_.erase(file);
        });
        return true;
    }
    void commit(ports::DiskTag tag, ports::DiskFile file,
                const ports::FileMetadata& metadata) override {
        late_.erase(file);
        disk_.commit(tag, file, metadata);
    }
    void close(ports::DiskFile file) override {
        late_.erase(file);
        disk_.close(file);
    }
    std::span<ports::DiskEvent> poll() override {
        given_ = std::exchange(ended_, {});
        for (const ports::DiskEvent& event : disk_.poll()) {
            if (event.tag != kOwn) given_.push_back(event);
        }
        return given_;
    }

  private:
    static constexpr ports::DiskTag kOwn = ~ports::DiskTag{0};
    World& world_;
    Alarm& owner_;
    std::set<ports::DiskFile> late_;
    std::vector<ports::DiskEvent> ended_, given_;
};

class StaleDisk final : public PlainDisk {
  public:
    StaleDisk(ports::Disk& disk, World& world) : PlainDisk(disk), world_(world) {}
    bool read(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset, std::uint32_t slot,
              std::size_t at, std::size_t bytes) override {
        if (!disk_.read(tag, file, offset, slot, at, bytes)) return false;
        if (world_.chance(kStaleReads)) {
            const ByteSpan place = disk_.slot(slot).subspan(at, bytes);
            stale_[tag] = {place, {place.begin(), place.end()}};
        }
        return true;
    }
    std::span<ports::DiskEvent> poll() override {
        const auto events = disk_.poll();
        for (const ports::DiskEvent& event : events) {
            const auto stale = stale_.extract(event.tag);
            if (!stale) continue;
            const auto& [place, before] = stale.mapped();
            std::copy(before.begin(), before.end(), place.begin());
        }
        return events;
    }

  private:
    World& world_;
    std::map<ports::DiskTag, std::pair<ByteSpan, std::vector<std::byte>>> stale_;
};

class LossyChannel final : public ports::FeedbackChannel {
  public:
    LossyChannel(std::unique_ptr<ports::FeedbackChannel> channel, World& world)
        : channel_(std::move(channel)), world_(world) {}
    bool send(ByteView frame) override {
        return world_.chance(kLostFrames) || channel_->send(frame);
    }
    ByteView receive() override { return channel_->receive(); }
    bool alive() const override { return channel_->alive(); }

  private:
    std::unique_ptr<ports::FeedbackChannel> channel_;
    World& world_;
};

class LossyFeedback final : public ports::FeedbackSource {
  public:
    LossyFeedback(ports::FeedbackSource& source, World& world) : source_(source), world_(world) {}
    std::optional<ports::Joined> poll() override {
        auto joined = source_.poll();
        if (joined)
            joined->channel = std::make_unique<LossyChannel>(std::move(joined->channel), world_);
        return joined;
    }
    void dial(std::uint16_t stripe, std::uint32_t epoch) override { source_.dial(stripe, epoch); }

  private:
    ports::FeedbackSource& source_;
    World& world_;
};

class LenientCipher final : public ports::PacketCipher {
  public:
    LenientCipher(std::unique_ptr<ports::PacketCipher> cipher, World& world)
        : cipher_(std::move(cipher)), world_(world) {}
    std::size_t tag_bytes() const override { return cipher_->tag_bytes(); }
    void seal(std::span<const ports::SealJob> jobs) override { cipher_->seal(jobs); }
    void open(std::span<ports::OpenJob> jobs) override {
        cipher_->open(jobs);
        for (ports::OpenJob& job : jobs) job.ok = job.ok || world_.chance(kLenientOpens);
    }

  private:
    std::unique_ptr<ports::PacketCipher> cipher_;
    World& world_;
};

constexpr std::pair<std::string_view, Plant> kPlants[] = {
    {"early-write", Plant::early_write},
    {"stale-read", Plant::stale_read},
    {"lost-frame", Plant::lost_frame},
    {"lenient-cipher", Plant::lenient_cipher}};

}  // namespace

std::optional<Plant> parse_plant(std::string_view name) {
    for (const auto& [known, plant] : kPlants) {
        if (known == name) return plant;
    }
    return std::nullopt;
}

const char* plant_names() {
    return "early-write, stale-read, lost-frame, lenient-cipher";
}

PlantedPorts::PlantedPorts(Plant plant, Run& run) : plant_(plant), run_(run) {}
PlantedPorts::~PlantedPorts() = default;

void PlantedPorts::install(bool sends, engine::Setup& setup) {
    switch (plant_) {
        case Plant::early_write:
            disks_.push_back(std::make_unique<EarlyDisk>(
                *setup.disk, run_.world,
                sends ? run_.sender_host.alarm() : run_.receiver_host.alarm()));
            setup.disk = disks_.back().get();
            return;
        case Plant::stale_read:
            disks_.push_back(std::make_unique<StaleDisk>(*setup.disk, run_.world));
            setup.disk = disks_.back().get();
            return;
        case Plant::lost_frame:
            feedbacks_.push_back(std::make_unique<LossyFeedback>(*setup.feedback, run_.world));
            setup.feedback = feedbacks_.back().get();
            return;
        case Plant::lenient_cipher:
            for (engine::StripeCiphers& pair : setup.ciphers) {
                pair.data = std::make_unique<LenientCipher>(std::move(pair.data), run_.world);
                pair.reverse = std::make_unique<LenientCipher>(std::move(pair.reverse), run_.world);
            }
            return;
    }
}

}  // namespace lambda::simulation

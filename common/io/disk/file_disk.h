// What both disk engines share: slots, the table of open files, operations on names, and the life
// of a request (direct or through the page cache, short transfers, errors). An engine only moves
// bytes: start() and reap(). Engine thread, but for the workers' jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/io/completions.h"
#include "common/io/disk/disk.h"
#include "common/io/disk/maker.h"
#include "common/io/disk/memory_reader.h"
#include "common/io/disk/open_queue.h"
#include "common/io/disk/slots.h"
#include "common/io/disk/thread_load.h"
#include "common/io/file/open_file.h"
#include "common/io/file/source_names.h"
#include "common/io/file/storage.h"
#include "common/io/reactor.h"
#include "common/io/stage/stage.h"
#include "common/io/workers.h"

namespace lambda::io {

class FileDisk : public ports::Disk {
  public:
    // What every engine is made of.
    struct Parts {
        Slots slots;
        Root root;
        std::unique_ptr<Workers> name_workers;
    };
    static Result<Parts> prepare(const DiskOptions& options, Root root, Reactor& reactor);

    std::uint32_t slot_count() const final { return slots_.count(); }
    ByteSpan slot(std::uint32_t index) final { return slots_.at(index); }

    void open_source(ports::DiskTag tag, const ports::SourceFile& file, std::uint64_t grain) final;
    bool read(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset, std::uint32_t slot,
              std::size_t at, std::size_t bytes) final;
    bool copies_here(ports::DiskFile file) final;
    void check_source(ports::DiskTag tag, ports::DiskFile file) final;
    void find_partials(ports::DiskTag tag, const std::string& path, bool below) final;
    void create_target(ports::DiskTag tag, const ports::TargetName& name, std::uint64_t size,
                       std::vector<Range> holes, Keep keep) final;
    void sync(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset,
              std::vector<std::byte> image) final;
    bool write(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset, std::uint32_t slot,
               std::size_t at, std::size_t bytes) final;
    void flush(ports::DiskTag tag, ports::DiskFile file) override;
    void commit(ports::DiskTag tag, ports::DiskFile file,
                const ports::FileMetadata& metadata) final;
    void make_entry(ports::DiskTag tag, ports::Making making) final;
    void close(ports::DiskFile file) final;
    void submit() final;
    std::span<ports::DiskEvent> poll() final;

    virtual const char* engine() const = 0;

  protected:
    // One read or write, and what of it is on its way to the machine.
    struct Request {
        ports::DiskTag tag = 0;
        ports::DiskFile file = 0;
        bool writing = false;
        bool here = false;  // by this thread, all of it
        std::uint32_t slot = 0;
        std::size_t at = 0;
        std::uint64_t offset = 0;
        std::size_t wanted = 0;
        std::size_t done = 0;
        // The present step: `length` bytes at `memory`, to or from `position` of `fd`.
        bool direct = false;
        int fd = -1;
        std::byte* memory = nullptr;
        std::uint64_t position = 0;
        std::size_t length = 0;
    };

    FileDisk(const DiskOptions& options, Parts parts, Reactor& reactor);

    const Request& request(std::uint32_t index) const { return requests_[index]; }
    Storage storage(const Request& request) { return entry(request.file).file->storage; }
    const Slots& slots() const { return slots_; }
    Reactor& reactor() const { return reactor_; }
    std::size_t in_flight() const { return in_flight_; }

    // Queues the present step. Its end comes back through finish().
    virtual void start(std::uint32_t index) = 0;
    // Hands queued steps to the machine; returns how many.
    virtual std::size_t hand_over() = 0;
    // Calls finish() for every step that ended.
    virtual void reap() = 0;
    // `result`: bytes, or -errno. May start() the next step.
    void finish(std::uint32_t index, long result);
    // The step by one of `workers`, by a blocking call. It is theirs until poll() takes its end.
    void post_step(Workers& workers, std::uint32_t index);
    // Destructors of engines: no step is started any more, and the reader has ended.
    void stop();
    // Calls finish() for every step that a worker ended.
    void take_posted();
    // For the log, once at the end.
    void tell_depth() const;

  private:
    struct Entry {
        std::shared_ptr<OpenFile> file;  // shared with a worker's job while one runs
        std::uint32_t in_flight = 0;
        bool direct_refused = false;
    };
    struct StepDone {
        std::uint32_t index = 0;
        long result = 0;
    };
    struct NameDone {
        ports::DiskEvent event;
        bool opening = false;
        std::shared_ptr<OpenFile> opened;
    };

    void make_range(ports::DiskTag tag, const ports::Making& making);

    struct Opening {
        ports::DiskTag tag = 0;
        ports::SourceFile file;
        std::uint64_t grain = 0;
        OpenQueue::Held held;
    };

    void open_queued();
    NameDone open_one(Opening wanted) const;
    void created(ports::DiskTag tag, Result<CreatedTarget> target);
    // The one target that a claim is of; an error for any other.
    Result<std::shared_ptr<const RangeClaim>> take_claim(const std::string& path);
    bool begin(const Request& wanted);
    // Aims at the next step and queues it. What lies in memory is copied here and now, since a
    // worker would do the same with the bytes in another processor's cache; unless this thread has
    // too much to do (docs/decisions/0015, 0023).
    void step(std::uint32_t index);
    void aim(Request& request);
    bool copies_now(const Request& request);
    bool reads();
    bool writes(const OpenFile& target);
    bool has_reader();
    void help_reader();
    Entry& entry(ports::DiskFile file);
    void put_away(ports::DiskFile file);
    void complete(std::uint32_t index, std::optional<Error> error);
    // The next event, made in its place, for the caller to fill in at once.
    ports::DiskEvent& end(ports::DiskTag tag);
    ports::DiskEvent& ready(ports::DiskTag tag);  // ... that no system call announces
    bool may_open(ports::DiskTag tag, const std::string& path);
    void fail(ports::DiskTag tag, const std::string& path, Error error);
    void done(NameDone done);

    Slots slots_;
    const Root root_;
    const SourceNames sources_{root_};
    Reactor& reactor_;
    const std::optional<FileRange> range_;           // of each source
    const std::shared_ptr<const RangeClaim> claim_;  // what alone may be written, where it is set
    bool claim_taken_ = false;

    std::vector<Request> requests_;
    std::vector<std::uint32_t> free_requests_;
    std::size_t in_flight_ = 0;
    bool stopping_ = false;

    OpenQueue open_sources_{OpenQueue::Kind::source};
    // A sender may wait to hear of a target whose journal may be kept, and sends others before it:
    // these must not wait for it in turn.
    OpenQueue targets_{OpenQueue::Kind::fresh}, kept_targets_{OpenQueue::Kind::kept};
    std::vector<Entry> files_;
    std::vector<ports::DiskFile> free_files_;
    std::size_t opening_ = 0;
    std::vector<Opening> openings_;  // since the last submit()
    bool cached_said_ = false;       // that what is read back may come from the page cache

    std::vector<ports::DiskEvent> ready_;   // for the next poll()
    std::vector<ports::DiskEvent> events_;  // of the last poll()
    bool ready_unsaid_ = false;             // the reactor must not sleep over ready_
    // By this thread, since poll(): what is more waits.
    bool read_here_ = false;
    std::size_t written_here_ = 0;

    // Sums over every hand-over to the machine, for the mean depth of the queue.
    std::uint64_t hand_overs_ = 0;
    std::uint64_t depth_sum_ = 0;
    std::uint64_t steps_ = 0;

    const bool may_write_;                    // DiskOptions::copies_writes
    const std::function<bool()> overloaded_;  // DiskOptions::overloaded
    ThreadLoad load_;
    Completions<StepDone> steps_done_;
    std::vector<StepDone> steps_taken_;
    std::unique_ptr<MemoryReader> reader_;  // once this thread was overloaded
    bool reader_refused_ = false;

    Completions<NameDone> names_done_;
    std::vector<NameDone> names_taken_;
    std::unique_ptr<Maker> maker_;           // once something is made
    std::unique_ptr<Workers> name_workers_;  // last: its jobs use what stands above
};

}  // namespace lambda::io

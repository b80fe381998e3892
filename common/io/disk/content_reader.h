// Files read whole by a few threads.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "common/io/completions.h"
#include "common/io/file/root.h"
#include "common/io/file/source_names.h"
#include "common/io/reactor.h"
#include "common/io/workers.h"
#include "common/ports/content_reader.h"

namespace lambda::io {

class ContentReader final : public ports::ContentReader {
  public:
    // `reactor` must outlive it.
    static Result<std::unique_ptr<ContentReader>> make(Root root, Reactor& reactor);
    ~ContentReader() override;  // stops what is under way

    void read(std::uint64_t tag, Place place, std::size_t grain, Take take) override;
    void try_open(std::uint64_t tag, Place place) override;
    std::vector<ports::ContentRead> poll() override;

  private:
    ContentReader(Root root, Reactor& reactor, std::unique_ptr<Workers> threads);
    Result<std::uint64_t> read_all(const Place& place, std::size_t grain, const Take& take) const;
    Result<std::uint64_t> read_first(const Place& place) const;
    void done(std::uint64_t tag, const Result<std::uint64_t>& size);
    Result<Descriptor> open(const Place& place) const;

    const Root root_;
    const SourceNames sources_{root_};
    Reactor& reactor_;
    std::atomic<bool> stopping_ = false;
    Completions<ports::ContentRead> done_;
    std::vector<ports::ContentRead> taken_;
    std::unique_ptr<Workers> threads_;  // last: its jobs use what stands above
};

}  // namespace lambda::io

#include "common/transfer/content_digests.h"

namespace lambda::transfer {

void ContentDigests::want(std::uint32_t number, ports::ContentReader::Place place,
                          std::uint64_t size) {
    wanted_.push_back({number, std::move(place), size});
}

void ContentDigests::try_open(std::uint32_t number, ports::SourceFile file) {
    wanted_.push_back({number, std::move(file), 0, true});
}

void ContentDigests::turn(const Told& told) {
    if (reader_ == nullptr) return;
    for (const ports::ContentRead& read : reader_->poll()) {
        ++*read_;
        const auto number = static_cast<std::uint32_t>(read.tag);
        const Reading done = reading_.extract(number).mapped();
        if (read.error) {
            told(number, *read.error);
        } else if (!done.digest) {
            told(number, Digests{});
        } else if (read.size != done.size || !done.digest->complete()) {
            told(number, Error{.fault = Fault::file,
                               .message = "the file changed while it was compared",
                               .path = {},
                               .side = Side::local,
                               .remedy = {}});
        } else {
            told(number, done.digest->finish_all());
        }
    }
    while (!wanted_.empty() && reading_.size() < kMostReads) {
        Wanted next = std::move(wanted_.front());
        wanted_.pop_front();
        if (next.only_opened) {
            reading_.emplace(next.number, Reading{});
            reader_->try_open(next.number, std::move(next.place));
            continue;
        }
        auto digest = std::make_shared<FileDigest>(next.size, strong_);
        reading_.emplace(next.number, Reading{next.size, digest});
        reader_->read(next.number, std::move(next.place), kLeafBytes,
                      [digest, size = next.size, read = read_](Range bytes, ByteView leaf) {
                          ++*read;
                          if (bytes.last > size) return;
                          if (leaf.empty()) {
                              digest->add_zeros(bytes.first, bytes.last);
                              for (; digest->lags(); ++*read)
                                  digest->advance(FileDigest::kZerosAtOnce);
                              return;
                          }
                          digest->add_leaf(bytes.first, leaf_digest(leaf), leaf);
                      });
    }
}

}  // namespace lambda::transfer

// A file that was written to while it was sent, and kept its size: it is gone over once more. All
// of it is read again and its digests are told, as of one that an earlier transfer left; what the
// receiver has otherwise, it asks for.
#include <algorithm>

#include "common/transfer/source.h"

namespace lambda::transfer {

// Nothing of the file is on its way, in either direction, so that what is told next is the last
// word on each leaf.
bool Source::told_all_of(FileNumber number, const File& file) const {
    const auto of_it = [number](const auto& each) { return each.file == number; };
    return file.reads_pending == 0 && leaves_told_ == 0 && comparing_ == 0 &&
           std::none_of(again_.begin(), again_.end(), of_it) &&
           std::none_of(blocks_.begin(), blocks_.end(), [&](const auto& entry) {
               return std::any_of(entry.second.extents.begin(), entry.second.extents.end(), of_it);
           });
}

void Source::go_over_changed() {
    for (auto next = changed_.begin(); next != changed_.end();) {
        const auto at = files_.find(*next);
        if (at != files_.end() && !at->second.failed) {
            File& file = at->second;
            if (!stream_.has_room() || !told_all_of(*next, file)) {
                ++next;
                continue;
            }
            ++file.looks;
            file.changed = {};
            // Its last block may be described by nothing that was said so far, and what the
            // receiver has not put away by now it does not compare.
            if (!finish_sent_) stream_.put(FrontierRecord{next_place_});
            stream_.put(ChangedRecord{*next});
            file.digest = FileDigest(file.size, strong_);
            file.kept = {{0, file.size}};
            file.unread = file.size;
            to_compare_.push_back(*next);
        }
        next = changed_.erase(next);
    }
}

}  // namespace lambda::transfer

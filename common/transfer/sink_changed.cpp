// The source was written to while its file came: what is on this disk is compared with it, leaf by
// leaf, as what an earlier transfer left is, and mended where it differs.
#include "common/transfer/sink.h"

namespace lambda::transfer {

bool Sink::handle_changed(const ChangedRecord& record) {
    const auto at = files_.find(record.file);
    if (at == files_.end() || at->second.failed) return record.file < next_file_;
    File& file = at->second;
    if (file.close || file.record.size < ports::kSmallFile || file.record.data.empty() ||
        !file.kept.empty() || (!file.proof && file.compares_in_hand > 0)) {
        return false;
    }
    // What is read back is on its way to its proof with the digests that it came with; and without
    // a slot nothing can be compared.
    if (file.proof || !spares_) {
        fail(record.file,
             Error{.fault = Fault::file,
                   .message = "the file changed while it was sent",
                   .path = file.record.name,
                   .side = Side::remote,
                   .remedy = "run the transfer again when nobody writes it"},
             true);
        return true;
    }
    file.changed = true;
    file.digest = FileDigest(file.record.size, strong_);
    file.kept.insert({0, file.record.size});
    for (const Range& range : file.missing.ranges()) file.kept.erase(range);
    file.to_compare = file.kept.count();
    return true;
}

// What is still to be written of a file that changed would go over what was found to be the same.
bool Sink::comparable(const File& file) const {
    return file.failed || !file.changed ||
           (file.step == File::Step::open && file.writes_in_flight == 0);
}

}  // namespace lambda::transfer

// Comparison: files that are compared by their content, at both ends.
#include "common/transfer/comparison.h"

namespace lambda::transfer {

// Another name is judged with the first.
void Comparison::compare(Asked&& asked, const ports::Standing& standing) {
    const std::uint32_t offer = asked.offer;
    if (asked.offered.kind == OfferRecord::Kind::same) {
        similar_.at(similar_shared_.at(asked.offered.text)).further.push_back(std::move(asked));
        ++further_;
        return;
    }
    if (asked.offered.further > 0) similar_shared_.emplace(asked.offered.name, offer);
    digests_.want(offer, asked.target, asked.offered.metadata.size);
    similar_.emplace(offer, Similar{std::move(asked), standing, {}, {}, {}});
}

bool Comparison::handle_digest(const DigestRecord& record) {
    if (record.what == DigestRecord::What::patience) return true;
    const auto at = similar_.find(record.offer);
    if (at == similar_.end() || at->second.there) return false;
    at->second.there.emplace();
    if (record.what == DigestRecord::What::digest) at->second.there->emplace(record.digests);
    maybe_settle(record.offer);
    return true;
}

void Comparison::take_digests() {
    digests_.turn([this](std::uint32_t offer, const Result<Digests>& digests) {
        auto& here = similar_.at(offer).here.emplace();
        if (digests) here.emplace(*digests);
        maybe_settle(offer);
    });
}

// What cannot be read at either end is moved, and fails there.
void Comparison::maybe_settle(std::uint32_t offer) {
    const auto at = similar_.find(offer);
    if (!at->second.here || !at->second.there) return;
    Similar similar = std::move(at->second);
    similar_.erase(at);
    Offered& offered = similar.asked.offered;
    similar_shared_.erase(offered.name);
    const bool same = *similar.here && *similar.there && **similar.here == **similar.there;
    const Verdict verdict = adopt(offered, similar.standing,
                                  judge_content(offered, similar.standing, same, tree_->rights()));
    note_shared(offered, verdict);
    stream_.put(SettledRecord{offer, static_cast<std::uint8_t>(verdict)});
    held_bytes_ -= similar.asked.bytes;
    act(similar.asked, verdict);
    further_ -= similar.further.size();
    for (Asked& further : similar.further) {
        held_bytes_ -= further.bytes;
        const Verdict as_well = wanted(verdict) ? Verdict::changed : Verdict::stands;
        stream_.put(SettledRecord{further.offer, static_cast<std::uint8_t>(as_well)});
        act(further, as_well);
    }
}

}  // namespace lambda::transfer

#include "common/transfer/sync_plan.h"

#include <algorithm>
#include <string_view>

#include "common/transfer/extended_limit.h"

namespace lambda::transfer {
namespace {

using OfferedKind = OfferRecord::Kind;
using StandingKind = ports::Standing::Kind;
using Extended = std::vector<ports::ExtendedAttribute>;

const std::string* value_of(const Extended& list, const std::string& name) {
    const auto at = std::find_if(list.begin(), list.end(),
                                 [&](const auto& attribute) { return attribute.name == name; });
    return at == list.end() ? nullptr : &at->value;
}

// Only root may set the others.
bool compared(std::string_view name, bool privileged) {
    return privileged || name.starts_with("user.") || name.starts_with("system.posix_acl_");
}

bool extended_agree(const Extended& offered, const Extended& standing, bool privileged) {
    const bool all = std::all_of(offered.begin(), offered.end(), [&](const auto& attribute) {
        const std::string* value = value_of(standing, attribute.name);
        return !compared(attribute.name, privileged) ||
               (value != nullptr && *value == attribute.value);
    });
    return all && std::all_of(standing.begin(), standing.end(), [&](const auto& attribute) {
               return ports::is_label(attribute.name) ||
                      value_of(offered, attribute.name) != nullptr;
           });
}

// Whether setting them would change nothing: as io::apply() sets them.
bool attributes_agree(const ports::FileMetadata& offered, const ports::Standing& standing,
                      const ports::Rights& rights) {
    const ports::FileMetadata& there = standing.metadata;
    if (!same_time(offered.mtime_ns, there.mtime_ns)) return false;
    if (standing.fixed) return true;
    bool owned = false;
    if (offered.archived && there.archived) {
        owned = offered.archived->owner == there.archived->owner;
        if (rights.changes(there.archived->owner, offered.archived->owner)) return false;
        if (!extended_agree(offered.archived->extended, there.archived->extended,
                            rights.privileged))
            return false;
    }
    if (standing.kind == StandingKind::link) return true;
    const bool directory = standing.kind == StandingKind::directory;
    return there.mode == ports::given_mode(offered.mode, owned, directory, rights.set_id);
}

bool stays_newer(const Offered& offered, const ports::Standing& standing, const SyncRecord& plan) {
    return plan.update && standing.kind == StandingKind::file &&
           standing.metadata.mtime_ns > offered.metadata.mtime_ns;
}

Verdict judge_file(const Offered& offered, const ports::Standing& standing, const SyncRecord& plan,
                   const ports::Rights& rights) {
    if (offered.metadata.size != standing.metadata.size) return Verdict::changed;
    if (plan.checksum) return Verdict::similar;
    if (!same_time(offered.metadata.mtime_ns, standing.metadata.mtime_ns)) return Verdict::changed;
    return judge_content(offered, standing, true, rights);
}

}  // namespace

bool same_time(std::int64_t offered_ns, std::int64_t standing_ns) {
    // Of ext4 with small inodes and HFS+, exFAT, some of FUSE, UDF, NTFS and SMB.
    constexpr std::int64_t kGrains[] = {1'000'000'000, 10'000'000, 1'000'000, 1000, 100};
    if (offered_ns <= standing_ns) return offered_ns == standing_ns;
    const auto grain = std::find_if(std::begin(kGrains), std::end(kGrains),
                                    [&](std::int64_t each) { return standing_ns % each == 0; });
    if (grain == std::end(kGrains)) return false;
    // A peer may say any time: no signed difference.
    const std::uint64_t apart =
        static_cast<std::uint64_t>(offered_ns) - static_cast<std::uint64_t>(standing_ns);
    return apart < static_cast<std::uint64_t>(*grain);
}

std::size_t offer_bytes(const std::string& name, const std::string& text,
                        const ports::FileMetadata& metadata) {
    return name.size() + text.size() + extended_bytes(metadata.archived);
}

Verdict judge_content(const Offered& offered, const ports::Standing& standing, bool same,
                      const ports::Rights& rights) {
    if (!same) return Verdict::changed;
    if (attributes_agree(offered.metadata, standing, rights)) return Verdict::stands;
    // They are those of its other names, too: one that the source does not have may be another
    // file's here.
    return standing.further > offered.further ? Verdict::changed : Verdict::attributes;
}

Verdict judge(const Offered& offered, const ports::Standing& standing, const SyncRecord& plan,
              const ports::Rights& rights) {
    if (offered.kind == OfferedKind::skipped) return Verdict::left;
    // What cannot be looked at is tried, and says why it fails; but it may be what is to stay.
    if (standing.error) {
        const bool protects = plan.update || plan.existing || plan.ignore_existing;
        return protects ? Verdict::left : Verdict::changed;
    }
    if (standing.kind == StandingKind::nothing) {
        const bool stays = plan.existing || (plan.ignore_existing && standing.beneath);
        return stays ? Verdict::left : Verdict::fresh;
    }
    const bool directories =
        offered.kind == OfferedKind::directory && standing.kind == StandingKind::directory;
    if (plan.ignore_existing && !directories) return Verdict::left;
    switch (offered.kind) {
        case OfferedKind::directory:
            if (!directories) return Verdict::changed;
            return judge_content(offered, standing, true, rights);
        case OfferedKind::same:
            if (standing.is_first) return Verdict::stands;
            if (stays_newer(offered, standing, plan)) return Verdict::left;
            break;
        case OfferedKind::link:
            if (standing.kind == StandingKind::link && standing.text == offered.text &&
                attributes_agree(offered.metadata, standing, rights)) {
                return Verdict::stands;
            }
            break;
        default:
            if (standing.kind != StandingKind::file) break;
            if (stays_newer(offered, standing, plan)) return Verdict::left;
            return judge_file(offered, standing, plan, rights);
    }
    return plan.erase && standing.kind == StandingKind::directory ? Verdict::blocked
                                                                  : Verdict::changed;
}

const char* to_string(Change::What what) {
    switch (what) {
        case Change::What::create:
            return "create";
        case Change::What::replace:
            return "replace";
        case Change::What::attributes:
            return "attributes";
        case Change::What::remove:
            return "delete";
    }
    return "";
}

}  // namespace lambda::transfer

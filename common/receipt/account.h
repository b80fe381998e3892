// The account of a transfer that both ends keep, each by itself, from the records that pass on the
// set stream: a line for each file that is done, in the order in which the receiver says so. Since
// both see the same records, both have the same lines, and the server can sign what the client
// wrote down without a list of its own. Pure; engine thread. Bounds: what is announced or offered
// and not done, which are the sender's and the receiver's to hold.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/receipt/lines.h"
#include "common/receipt/tally.h"
#include "common/transfer/set_stream.h"

namespace lambda::receipt {

class Account final : public transfer::RecordWatch {
  public:
    // Whole lines with their ends, some 64 KiB at a time, beginning with the receipt's first.
    using Take = std::function<void(std::string_view lines)>;
    // `take`: nothing at an end that keeps no more than the tally. `receives`: at the receiver.
    Account(bool receives, Take take);

    void passes(const transfer::Record& record) override;
    // Once, at the end.
    Tally finish();

  private:
    // A file that was announced.
    struct Announced {
        FileLine line;
        bool closed = false;
    };
    // A file that was offered, and stands there if the receiver says so.
    struct Offered {
        bool is_file = false;
        FileLine line;
    };

    void pass(const transfer::FileRecord& record);
    void pass(const transfer::StrongRecord& record);
    void pass(const transfer::CloseRecord& record);
    void pass(const transfer::VoidRecord& record);
    void pass(const transfer::RefuseRecord& record);
    void pass(const transfer::DoneRecord& record);
    void pass(const transfer::OfferRecord& record);
    void pass(const transfer::VerdictsRecord& record);
    void pass(const transfer::DigestRecord& record);
    void pass(const transfer::SettledRecord& record);
    void pass(const transfer::WantRecord& record);
    void pass(const auto&) {}  // of no file, or of none that is done

    std::string name_of(const std::string& leaf) const;
    void judge(Offered&& offered, std::uint8_t verdict);
    void put(const FileLine& line);
    void put(std::string_view line);
    void flush();

    const bool receives_;
    const Take take_;
    transfer::Sha256State lines_;
    std::string waiting_;  // lines
    Tally tally_;
    std::unordered_map<transfer::FileNumber, Announced> announced_;
    std::vector<std::string> entered_;  // names of the directories that offers are in
    std::deque<Offered> offered_;       // without a verdict
    std::uint32_t first_offered_ = 0;   // number of its front
    std::unordered_map<std::uint32_t, Offered> unsettled_;  // those that are similar, by offer
};

}  // namespace lambda::receipt

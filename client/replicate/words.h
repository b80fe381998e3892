// What a job's commands print, for people and as JSON. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/replicate/job.h"
#include "client/replicate/plan.h"
#include "client/replicate/store.h"
#include "client/report/text.h"

namespace lambda::client::replicate {

const char* word(RunState state);
const char* word(SiteState state);

// One line each, without its end.
struct Words {
    JsonObject json;
    std::string text;
};

Words words_of_step(const Job& job, const Site& site, const Entry& entry, const Decision& decision);
Words words_of_plan(const Site& site, const SitePlan& plan, const Listing& source);
// What `which` and `conflict` say is not to be touched.
std::string words_of_left(const Tally& left);
// Of a destination that did not answer, or whose server cannot meet that of the sources.
Words words_of_unreached(const Site& site, const Error& error);
// A sentence, where there is something to say.
void tell_skipped(const Listing& source, const std::function<void(const std::string&)>& say);
// What a run that has not ended has done.
void add_so_far(Run& run, const std::vector<SiteStatus>& sites);
// `under_way`: a mover is at work.
Words words_of_run(const Run& run, bool under_way);
struct SiteSaid {
    enum class Run { goes_on, paused, cut, over };  // cut: nobody is at work on it
    Run run = Run::goes_on;
    bool why = true;     // with what its trouble is; as an object always
    bool whole = false;  // other figures beside it are of a part of the run
};
Words words_of_site(const SiteStatus& status, const SiteSaid& said);
Words words_of_failure(const Job& job, const Failure& failure);
// The destination, and what failed there unless it is all of a source.
std::string place_of(const Job& job, const Failure& failure);

struct JobStatus {
    std::optional<Run> run;
    std::vector<SiteStatus> sites;
    std::vector<Mover> movers{};        // alive
    std::vector<MoverTally> tallies{};  // of all that had a part in the run
    Request request = Request::none;
};
SiteSaid::Run how_it_goes(const JobStatus& status);
// The whole in one line.
Words words_of_status(const Job& job, const JobStatus& status);
// The summary for hooks: one JSON object. Of at most so many bytes: its troubles are cut, or the
// destinations left out, for the sake of the rest.
constexpr std::size_t kMostSummary = 100 * KiB;  // of a variable, Linux takes 128
std::string summary_of(const Job& job, const Run& run, std::vector<SiteStatus> sites,
                       std::size_t most = std::string::npos);

// How --left-over calls what is called `below` at the destinations: as a source of put or get.
std::string left_over_name(const Job& job, std::uint32_t root, const std::string& below);

}  // namespace lambda::client::replicate

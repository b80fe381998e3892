// What a named scenario expects of its runs, as one line of text:
//
//   VALUE in LOW..HIGH      VALUE >= X      VALUE <= X
//   VALUE / VALUE in ...                            a ratio
//   mean VALUE in ...                               over the runs that it is of
//   ... where VALUE >= X                            asked only of runs of which this holds
//   rank METRIC RUN RUN RUN ... >= X                Spearman's correlation of the metric over these
//                                                   runs with their order here, the highest first;
//                                                   RUN=RUN=RUN are one as high as the other there
//   deviation RUN RUN <= X                          how far what leaves all senders in the first is
//                                                   off that of the second: the differences of
//                                                   each second that is measured, by the second's
//                                                   mean rate
// VALUE is METRIC, or RUN:METRIC for one of several runs; without RUN it is asked of each run, and
// with a RUN that ends in * of each whose name begins so. Beside it in a ratio another that ends in
// * stands for the run whose name ends as that one's does: sabul-*:jain / bbr-*:jain.
// METRIC is sum_mbit, sum_cov, utilisation, jain, spread, correlation, queue_mean_bytes,
// queue_mean_ms, queue_p10_bytes, queue_p10_bdp, settled_ms or sent_settled_ms (flows.h); or FIELD
// of a flow: flows[0].mean_mbit; of the least or the greatest: min.cov, max.cov; the mean over
// flows of a law: reno.mean_mbit. FIELD is mean_mbit, cov, lost_packets, sent_packets,
// stripes_jain, reached_ms, rtt_ms (in the last bin) or rtt_settled_ms. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "tools/sim/flows.h"

namespace lambda::simulation {

struct Value {
    std::string run;  // empty: each; "a*": each that begins so
    std::string metric;
    std::string field;      // empty: the metric is of the whole run
    std::size_t index = 0;  // of the flow, where metric is "flows"
};

struct Expectation {
    std::string text;  // as written
    enum class Kind { each, mean, rank, deviation } kind = Kind::each;
    // One; two for a ratio; for a rank, one for each run; for a deviation its two runs.
    std::vector<Value> values;
    std::vector<double> order;  // of a rank: what would have the ranks that are expected
    double low, high;
    std::vector<Expectation> condition;  // of a run; at most one
};

struct RunResult {
    std::string name;
    FlowsResult result;
};

struct Finding {
    std::string text;  // the expectation
    std::string run;   // of which it was asked, where that is one of several
    std::uint64_t seed = 0;
    double figure = 0;
    double margin = 0;  // to the nearer bound; infinite where its condition does not hold
    bool holds() const { return margin >= 0; }
};

// Fault::usage for what is not of the form above, and for a run that is not one of `runs`.
Result<Expectation> parse_expectation(const std::string& text,
                                      const std::vector<std::string>& runs);

// A flow that the result does not have gives a figure that is no number, and does not hold.
std::vector<Finding> judge(const Expectation& expectation, std::span<const RunResult> runs);

// The finding of the least margin; there is one at least.
const Finding& worst(std::span<const Finding> findings);

}  // namespace lambda::simulation

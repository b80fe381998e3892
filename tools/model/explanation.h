// What the model says of one or several parameter sets on a link, gathered. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "tools/model/lemmas.h"
#include "tools/model/prediction.h"

namespace lambda::model {

struct Question {
    std::vector<std::string> laws{"mimd"};  // "mimd:preset=pr1,T=400ms"; one to sixteen
    Link link;
    // One for each law; where there is one law, the second is the flow that joins it.
    std::vector<double> initial_mbit{100, 500};
};

struct LawAnswer {
    std::string name;
    sabul::MimdParameters law;
    Landmarks landmarks;
    std::vector<Lemma> lemmas;
    Prediction prediction;            // alone on the link
    std::optional<long> fair_rounds;  // two of this law, from the question's first two rates
};
struct Answer {
    Link link;
    std::vector<double> initial_mbit;
    std::vector<LawAnswer> laws;
    std::vector<double> shares_mbit;  // of the laws together, where there are several
};
// Fault::usage for a law that is not `mimd`, wrong parameters or rates.
Result<Answer> answer(const Question& question);

std::string explain(const Answer& answer);
std::string json_text(const Answer& answer);

}  // namespace lambda::model

#include "tools/model/explanation.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace lambda::model {
namespace {

constexpr std::size_t kMostLaws = 16;

Error usage(std::string message, std::string remedy) {
    return Error{.fault = Fault::usage,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::local,
                 .remedy = std::move(remedy)};
}

Result<sabul::MimdParameters> read_law(const std::string& text) {
    sabul::Parameters parameters(text);
    if (parameters.law() != "mimd") {
        return usage("'" + text + "' has no model",
                     "the model is that of mimd:PARAMETER=VALUE,...");
    }
    const sabul::MimdParameters law = sabul::MimdParameters::read(parameters);
    const Result<void> good = parameters.finish();
    if (!good) return good.error();
    return law;
}

std::string told(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string told(const char* format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

double seconds_of(const sabul::MimdParameters& law, double rounds) {
    return rounds * seconds(law.round);
}

std::string explain_course(const LawAnswer& one, const Link& link) {
    const Prediction& p = one.prediction;
    switch (p.course) {
        case Course::locks:
            return told(
                "  It locks at %.1f Mbit/s, where loss is alpha; the standstill is unstable, and "
                "any\n"
                "  disturbance begins an oscillation.\n",
                p.mean_mbit);
        case Course::rises:
            return told("  It rises to the interface's rate, %.1f Mbit/s, and never falls.\n",
                        one.landmarks.interface_mbit);
        case Course::stays:
            return told("  It stays at %.1f Mbit/s: with these parameters it has no increase.\n",
                        p.mean_mbit);
        case Course::oscillates:
            break;
    }
    std::string text = told("  It oscillates between %.1f and %.1f Mbit/s, mean %.1f", p.least_mbit,
                            p.most_mbit, p.mean_mbit);
    if (p.period_rounds > 0) {
        text += told(", once in %.1f rounds (%.3g s)", p.period_rounds,
                     seconds_of(one.law, p.period_rounds));
    }
    text += ".\n";
    if (p.longest_increase > 0 && p.longest_decrease > 0) {
        text += told("  Increases last up to %ld rounds, decreases up to %ld.\n",
                     p.longest_increase, p.longest_decrease);
    }
    return text +
           told("  Goodput is %.2f %% of the %.0f Mbit/s", 100 * p.goodput, link.service_mbit) +
           told(", loss %.4f %%, %.2f times alpha.\n", 100 * p.loss, p.loss / one.law.alpha);
}

std::string explain_law(const LawAnswer& one, const Answer& all) {
    const sabul::MimdParameters& law = one.law;
    const Landmarks& at = one.landmarks;
    std::string text =
        one.name + "\n" +
        told("  T %s, k1 %g, k2 %g, c %g us, d %g us, b %g us, alpha %g, V %g\n",
             format_duration(law.round).c_str(), law.k1, law.k2, law.c_us, law.d_us, law.b_us,
             law.alpha, law.most_naks) +
        told(
            "  interface C %.0f Mbit/s, service mu %.0f Mbit/s, queue %.0f packets of "
            "%.0f bits\n",
            at.interface_mbit, all.link.service_mbit, all.link.queue_packets,
            all.link.packet_bits) +
        told(
            "  gap at mu %.4g us, where loss is alpha %.4g us, after a decrease at most "
            "%.4g us\n\n",
            at.service_gap_us, at.limit_gap_us, at.most_gap_us) +
        "Prediction, alone on the link\n" + explain_course(one, all.link);
    if (one.fair_rounds) {
        text += told(
            "  Two of them, from %.0f and %.0f Mbit/s, are within 5 %% after %ld rounds "
            "(%.4g s).\n",
            all.initial_mbit[0], all.initial_mbit[1], *one.fair_rounds,
            seconds_of(law, static_cast<double>(*one.fair_rounds)));
    } else {
        text += told("  Two of them, from %.0f and %.0f Mbit/s, do not come to equal rates.\n",
                     all.initial_mbit[0], all.initial_mbit[1]);
    }
    text += "\nLemmas of 2004, as corrected\n";
    for (const Lemma& lemma : one.lemmas) {
        text += told("  %d %-6s %s\n           %s\n", lemma.number, lemma.holds ? "holds" : "no",
                     lemma.claim.c_str(), lemma.why.c_str());
        if (lemma.as_printed != lemma.holds) {
            text += told("           the printed condition would say: %s\n",
                         lemma.as_printed ? "holds" : "no");
        }
        for (const Value& value : lemma.values) {
            text += told("           %s: %.6g %s\n", value.name.c_str(), value.value,
                         value.unit.c_str());
        }
    }
    return text;
}

// JSON has no infinity.
nlohmann::ordered_json number(double value) {
    if (!std::isfinite(value)) return nullptr;
    return value;
}

nlohmann::ordered_json json_of(const LawAnswer& one) {
    const sabul::MimdParameters& law = one.law;
    const Landmarks& at = one.landmarks;
    const Prediction& p = one.prediction;
    nlohmann::ordered_json lemmas = nlohmann::ordered_json::array();
    for (const Lemma& lemma : one.lemmas) {
        nlohmann::ordered_json values = nlohmann::ordered_json::object();
        for (const Value& value : lemma.values) {
            const std::string unit = value.unit == "Mbit/s" ? "mbit" : value.unit;
            values[value.name + (unit.empty() ? "" : "_" + unit)] = number(value.value);
        }
        lemmas.push_back({{"lemma", lemma.number},
                          {"claim", lemma.claim},
                          {"holds", lemma.holds},
                          {"why", lemma.why},
                          {"printed", lemma.as_printed},
                          {"values", values}});
    }
    nlohmann::ordered_json fairness{{"rounds", nullptr}, {"seconds", nullptr}};
    if (one.fair_rounds) {
        fairness["rounds"] = *one.fair_rounds;
        fairness["seconds"] = seconds_of(law, static_cast<double>(*one.fair_rounds));
    }
    return {{"law", one.name},
            {"parameters",
             {{"T_s", seconds(law.round)},
              {"k1", law.k1},
              {"k2", law.k2},
              {"c_us", law.c_us},
              {"d_us", law.d_us},
              {"b_us", law.b_us},
              {"alpha", law.alpha},
              {"V", law.most_naks},
              {"interface_mbit", at.interface_mbit}}},
            {"landmarks",
             {{"limit_mbit", at.limit_mbit},
              {"service_gap_us", at.service_gap_us},
              {"limit_gap_us", at.limit_gap_us},
              {"most_gap_us", at.most_gap_us},
              {"least_mbit", at.least_mbit},
              {"overshoot", at.overshoot}}},
            {"prediction",
             {{"course", to_string(p.course)},
              {"period_rounds", p.period_rounds},
              {"period_s", seconds_of(law, p.period_rounds)},
              {"least_mbit", p.least_mbit},
              {"most_mbit", p.most_mbit},
              {"mean_mbit", p.mean_mbit},
              {"goodput", p.goodput},
              {"loss", p.loss},
              {"longest_increase_rounds", p.longest_increase},
              {"longest_decrease_rounds", p.longest_decrease}}},
            {"fairness", fairness},
            {"lemmas", lemmas}};
}

}  // namespace

Result<Answer> answer(const Question& question) {
    if (question.laws.empty() || question.laws.size() > kMostLaws) {
        return usage("one to sixteen laws can be asked for", {});
    }
    const std::size_t rates = std::max<std::size_t>(2, question.laws.size());
    if (question.initial_mbit.size() != rates) {
        return usage(told("%zu initial rates are given", question.initial_mbit.size()),
                     told("give %zu, comma-separated", rates));
    }
    Answer all{.link = question.link,
               .initial_mbit = question.initial_mbit,
               .laws = {},
               .shares_mbit = {}};
    std::vector<Start> starts;
    for (std::size_t i = 0; i < question.laws.size(); ++i) {
        const Result<sabul::MimdParameters> law = read_law(question.laws[i]);
        if (!law) return law.error();
        if (question.link.service_mbit * 1e6 >= law->interface.bits_per_second) {
            return usage("the link is not slower than the interface of " + question.laws[i],
                         "the model needs --service below the parameter `interface`");
        }
        const double start = question.initial_mbit[i];
        starts.push_back({*law, start});
        all.laws.push_back(
            {.name = question.laws[i],
             .law = *law,
             .landmarks = landmarks(question.link, *law),
             .lemmas = check_lemmas(question.link, *law, start),
             .prediction = predict(question.link, *law, start),
             .fair_rounds = rounds_to_fairness(question.link, *law, question.initial_mbit[0],
                                               question.initial_mbit[1])});
    }
    if (starts.size() > 1) all.shares_mbit = shares(question.link, starts);
    return all;
}

std::string explain(const Answer& all) {
    std::string text;
    for (const LawAnswer& one : all.laws)
        text += (text.empty() ? "" : "\n") + explain_law(one, all);
    if (all.shares_mbit.empty()) return text;
    text += "\nTogether on the link\n";
    for (std::size_t i = 0; i < all.laws.size(); ++i) {
        text += told("  %8.1f Mbit/s  %s\n", all.shares_mbit[i], all.laws[i].name.c_str());
    }
    return text;
}

std::string json_text(const Answer& all) {
    nlohmann::ordered_json out{{"service_mbit", all.link.service_mbit},
                               {"queue_packets", all.link.queue_packets},
                               {"packet_bits", all.link.packet_bits},
                               {"initial_mbit", all.initial_mbit},
                               {"laws", nlohmann::ordered_json::array()}};
    for (const LawAnswer& one : all.laws) out["laws"].push_back(json_of(one));
    if (!all.shares_mbit.empty()) out["shares_mbit"] = all.shares_mbit;
    return out.dump();
}

}  // namespace lambda::model

// What the recurrence comes to: oscillation, loss, shares, time to fairness. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tools/model/recurrence.h"

namespace lambda::model {

enum class Course {
    oscillates,  // between increase and decrease, for ever
    locks,       // at ρ = α: stands still, until any disturbance
    rises,       // never leaves the increase: its interface is too slow to lose α
    stays,       // where it began: it has no increase
};
const char* to_string(Course course);

// Of one flow alone, over `rounds`, or longer where its phases may be, once its start is over.
struct Prediction {
    Course course = Course::oscillates;
    double period_rounds = 0;  // from one decrease's beginning to the next; 0: no oscillation
    double least_mbit = 0, most_mbit = 0, mean_mbit = 0;
    double goodput = 0;                               // of μ
    double loss = 0;                                  // γ: the mean of ρ over rounds
    long longest_increase = 0, longest_decrease = 0;  // rounds
};
Prediction predict(const Link& link, const sabul::MimdParameters& law, double rate_mbit,
                   long rounds = 10000);

// How many rounds the law decreases for when it begins at the interface's rate; nothing where it
// has not ended after `most`.
std::optional<long> first_decrease(const Link& link, const sabul::MimdParameters& law,
                                   long most = 1'000'000);

// Rounds until the rates of two flows of the same law differ by less than 5 %.
std::optional<long> rounds_to_fairness(const Link& link, const sabul::MimdParameters& law,
                                       double first_mbit, double second_mbit,
                                       long most = 1'000'000);

struct Start {
    sabul::MimdParameters law;
    double rate_mbit;
};
// Mean rates of flows that share the link, over the second half of `span`.
std::vector<double> shares(const Link& link, std::span<const Start> flows,
                           Duration span = std::chrono::seconds(2000));

}  // namespace lambda::model

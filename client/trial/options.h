// What `trial` is asked for: legs, and lists of what is to be varied.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lambda::client {

struct TrialOptions {
    std::string sizes = "1GiB";  // a list
    std::string legs = "all";    // a list of words: a leg is meant if one is part of its name
    unsigned repetitions = 3;
    std::string directory = ".";  // where files for trials lie here
    std::string report;           // HTML; empty: none
    std::string csv;              // likewise
    std::string compare;          // JSON lines of an earlier trial; empty: none
    std::string against;          // a program that is measured beside; empty: none
    // Settings that were given as lists, by their keys.
    std::map<std::string, std::string> swept;
};

void add_trial_options(CLI::App& app, TrialOptions& into);

// stripes, congestion, payload, protection.
bool may_be_swept(const std::string& key);

// At commas; but a piece like "T=400ms" belongs to the law before it: "reno,mimd:preset=pr1,T=4s"
// are two.
std::vector<std::string> split_list(const std::string& text);

}  // namespace lambda::client

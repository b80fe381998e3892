#include "common/sabul/congestion/registry.h"

#include <array>

#include "common/sabul/congestion/fixed.h"
#include "common/sabul/congestion/sabul.h"
#include "common/sabul/congestion/sabul2003.h"

namespace lambda::sabul {
namespace {

struct Registered {
    std::string_view name;
    bool governs_transfer;
    std::unique_ptr<Law> (*make)(const LawSettings&);
};

template <typename T>
std::unique_ptr<Law> make_one(const LawSettings& settings) {
    return std::make_unique<T>(settings);
}

constexpr std::array kLaws{Registered{"sabul", true, make_one<Sabul>},
                           Registered{"sabul2003", false, make_one<Sabul2003>},
                           Registered{"fixed", true, make_one<Fixed>}};

const Registered* find(std::string_view name) {
    for (const Registered& law : kLaws) {
        if (law.name == name) return &law;
    }
    return nullptr;
}

}  // namespace

std::vector<std::string> law_names() {
    std::vector<std::string> names;
    for (const Registered& law : kLaws) names.emplace_back(law.name);
    return names;
}

std::unique_ptr<Law> make_law(std::string_view name, const LawSettings& settings) {
    const Registered* law = find(name);
    return law == nullptr ? nullptr : law->make(settings);
}

bool governs_transfer(std::string_view name) {
    const Registered* law = find(name);
    return law != nullptr && law->governs_transfer;
}

}  // namespace lambda::sabul

#include "common/sabul/congestion/registry.h"

#include <array>

#include "common/sabul/congestion/bbr.h"
#include "common/sabul/congestion/bic.h"
#include "common/sabul/congestion/cubic.h"
#include "common/sabul/congestion/fixed.h"
#include "common/sabul/congestion/hstcp.h"
#include "common/sabul/congestion/htcp.h"
#include "common/sabul/congestion/htcp_be.h"
#include "common/sabul/congestion/mimd.h"
#include "common/sabul/congestion/parameters.h"
#include "common/sabul/congestion/reno.h"
#include "common/sabul/congestion/sabul.h"
#include "common/sabul/congestion/sabul2000.h"
#include "common/sabul/congestion/sabul2003.h"
#include "common/sabul/congestion/stcp.h"
#include "common/sabul/congestion/westwood.h"
#include "common/sabul/congestion/window_law.h"

namespace lambda::sabul {
namespace {

// Makes a law of what the parameters say; what is wrong with them, they tell afterwards.
using Make = std::unique_ptr<Law> (*)(const LawSettings&, Parameters&);

template <typename T>
std::unique_ptr<Law> plain(const LawSettings& settings, Parameters&) {
    return std::make_unique<T>(settings);
}

template <typename T>
std::unique_ptr<Law> with_parameters(const LawSettings& settings, Parameters& parameters) {
    return std::make_unique<T>(settings, parameters);
}

template <typename Rule>
std::unique_ptr<Law> window(const LawSettings& settings, Parameters&) {
    return std::make_unique<WindowLaw>(settings, std::make_unique<Rule>());
}

template <typename Rule>
std::unique_ptr<Law> window_with(const LawSettings& settings, Parameters& parameters) {
    return std::make_unique<WindowLaw>(settings, std::make_unique<Rule>(parameters));
}

std::unique_ptr<Law> mimd(const LawSettings& settings, Parameters& parameters) {
    return std::make_unique<Mimd>(settings, MimdParameters::read(parameters));
}

// `sabul` that gives way to whoever fills a queue.
std::unique_ptr<Law> background(const LawSettings& settings, Parameters&) {
    LawSettings yielding = settings;
    yielding.competes = false;
    return std::make_unique<Sabul>(yielding);
}

struct Registered {
    std::string_view name;
    bool governs_transfer;
    enum class Loss { ignored, judged, yielded_to } loss;
    Make make;
};

using Loss = Registered::Loss;
constexpr std::array kLaws{
    Registered{"sabul", true, Loss::judged, plain<Sabul>},
    Registered{"background", true, Loss::judged, background},
    Registered{"bbr", true, Loss::judged, plain<Bbr>},
    Registered{"fixed", true, Loss::ignored, plain<Fixed>},
    Registered{"sabul2000", false, Loss::yielded_to, with_parameters<Sabul2000>},
    Registered{"sabul2003", false, Loss::yielded_to, with_parameters<Sabul2003>},
    Registered{"mimd", false, Loss::yielded_to, mimd},
    Registered{"reno", false, Loss::yielded_to, window<Reno>},
    Registered{"hstcp", false, Loss::yielded_to, window<Hstcp>},
    Registered{"stcp", false, Loss::yielded_to, window_with<Stcp>},
    Registered{"bic", false, Loss::yielded_to, window_with<Bic>},
    Registered{"cubic", false, Loss::yielded_to, window<Cubic>},
    Registered{"htcp", false, Loss::yielded_to, window_with<Htcp>},
    Registered{"westwood", false, Loss::yielded_to, window_with<Westwood>},
    Registered{"htcp-be", false, Loss::yielded_to, window_with<HtcpBe>}};

const Registered* find(std::string_view name) {
    for (const Registered& law : kLaws) {
        if (law.name == name) return &law;
    }
    return nullptr;
}

Error unknown(const std::string& name) {
    std::string names;
    for (const Registered& law : kLaws) {
        names += (names.empty() ? "" : ", ") + std::string(law.name);
    }
    return Error{.fault = Fault::unsupported,
                 .message = "congestion law '" + name + "' is not known",
                 .path = {},
                 .side = Side::local,
                 .remedy = "choose one of " + names};
}

Result<std::unique_ptr<Law>> build(std::string_view text, const LawSettings& settings) {
    Parameters parameters(text);
    const Registered* law = find(parameters.law());
    if (law == nullptr) return unknown(parameters.law());
    std::unique_ptr<Law> made = law->make(settings, parameters);
    const Result<void> good = parameters.finish();
    if (!good) return good.error();
    return made;
}

}  // namespace

std::vector<std::string> law_names() {
    std::vector<std::string> names;
    for (const Registered& law : kLaws) names.emplace_back(law.name);
    return names;
}

std::unique_ptr<Law> make_law(std::string_view text, const LawSettings& settings) {
    Result<std::unique_ptr<Law>> built = build(text, settings);
    return built ? std::move(*built) : nullptr;
}

Result<void> check_law(std::string_view text) {
    const Result<std::unique_ptr<Law>> built = build(text, LawSettings{});
    if (!built) return built.error();
    return {};
}

bool governs_transfer(std::string_view text) {
    const Registered* law = find(law_name_of(text));
    return law != nullptr && law->governs_transfer;
}

bool yields_to_loss(std::string_view text) {
    const Registered* law = find(law_name_of(text));
    return law != nullptr && law->loss == Loss::yielded_to;
}

bool keeps_rate(std::string_view text) {
    const Registered* law = find(law_name_of(text));
    return law != nullptr && law->loss == Loss::ignored;
}

}  // namespace lambda::sabul

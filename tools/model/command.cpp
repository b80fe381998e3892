#include "tools/model/command.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <memory>

#include "tools/model/explanation.h"

namespace lambda::model {
namespace {

struct Flags {
    std::vector<std::string> laws;
    std::string service = "950Mbit/s", packet = "1500B";
    std::vector<std::string> initial;
    double queue_packets = 0;
    bool json = false;
};

template <typename T>
T need(Result<T> parsed, const char* flag) {
    if (!parsed) throw CLI::ValidationError(flag, parsed.error().sentence());
    return std::move(*parsed);
}

Question question_of(const Flags& flags) {
    Question question;
    if (!flags.laws.empty()) question.laws = flags.laws;
    question.link.service_mbit = need(parse_rate(flags.service), "--service").bits_per_second / 1e6;
    question.link.packet_bits = static_cast<double>(need(parse_size(flags.packet), "--packet")) * 8;
    question.link.queue_packets = flags.queue_packets;
    if (question.link.service_mbit <= 0 || question.link.packet_bits <= 0) {
        throw CLI::ValidationError("--service and --packet must be above 0");
    }
    if (!std::isfinite(flags.queue_packets)) throw CLI::ValidationError("--queue", "no number");
    if (!flags.initial.empty()) question.initial_mbit.clear();
    for (const std::string& text : flags.initial) {
        question.initial_mbit.push_back(need(parse_rate(text), "--initial").bits_per_second / 1e6);
        if (question.initial_mbit.back() <= 0)
            throw CLI::ValidationError("--initial", "0 is no rate");
    }
    if (flags.initial.empty() && question.laws.size() > 2) {
        question.initial_mbit.assign(question.laws.size(), 100);
    }
    return question;
}

int run(const Flags& flags) {
    const Result<Answer> all = answer(question_of(flags));
    if (!all) {
        std::fprintf(stderr, "lambda-sim: %s\n", all.error().sentence().c_str());
        return 2;
    }
    std::printf("%s%s", (flags.json ? json_text(*all) : explain(*all)).c_str(),
                flags.json ? "\n" : "");
    return 0;
}

}  // namespace

void add_model_command(CLI::App& app, int& exit_code) {
    const auto flags = std::make_shared<Flags>();
    CLI::App* command = app.add_subcommand(
        "model",
        "The papers' model of SABUL's rate control, without packets: which lemmas hold for a "
        "parameter set, how it oscillates, what it loses, when two flows are fair.");
    command->add_option("law", flags->laws,
                        "mimd, or mimd:preset=pr1,T=400ms; several share the link");
    command->add_option("--service", flags->service, "mu: the rate of the link (950Mbit/s)");
    command->add_option("--queue", flags->queue_packets, "K: packets its queue takes (0: fluid)")
        ->check(CLI::Range(0.0, 1e9).description(""))
        ->type_name("0..1e9");
    command->add_option("--packet", flags->packet, "L: a packet (1500B)");
    command
        ->add_option("--initial", flags->initial,
                     "rates at the start, one for each law, two for one (100Mbit/s,500Mbit/s)")
        ->delimiter(',')
        ->allow_extra_args(false);
    command->add_flag("--json", flags->json, "one line of JSON");
    command->callback([flags, &exit_code] { exit_code = run(*flags); });
}

}  // namespace lambda::model

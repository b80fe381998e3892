#include "client/report/verdict_json.h"

#include "client/report/text.h"

namespace lambda::client {
namespace {

std::string stages_json(const verdict::Stages& stages) {
    return JsonObject()
        .number("source_disk", stages.source_disk)
        .number("sender_cpu", stages.sender_cpu)
        .number("path", stages.path)
        .number("receiver_cpu", stages.receiver_cpu)
        .number("destination_disk", stages.destination_disk)
        .line();
}

// What the other end never told is left out, and so is what an end does not measure.
std::string figures_json(const verdict::Figures& figures) {
    JsonObject object;
    for (std::size_t i = 0; i < verdict::kFigures; ++i) {
        const auto figure = static_cast<verdict::Figure>(i);
        if (figures[figure] > 0) object.number(verdict::name_of(figure), figures[figure]);
    }
    return object.line();
}

}  // namespace

std::string verdict_json(const verdict::Evidence& evidence) {
    const verdict::Verdict verdict = verdict::judge(evidence);
    return JsonObject()
        .text("cause", verdict::name_of(verdict.cause))
        .number("share", verdict.share)
        .text("why", verdict.why)
        .text("remedy", verdict.remedy)
        .raw("stages", stages_json(verdict.stages))
        .raw("sender", figures_json(evidence.sender))
        .raw("receiver", figures_json(evidence.receiver))
        .line();
}

}  // namespace lambda::client

#include "client/help.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "client/option_scope.h"
#include "client/options.h"

namespace lambda::client {
namespace {

constexpr const char* kPlaces =
    "A place is lambda://[user@]host[:port]/path (percent-encoded), [user@]host:path, or a\n"
    "local path.";
constexpr const char* kLanding =
    " With several sources, or where DESTINATION is a directory or ends in '/',\n"
    "each source lands in it.";

std::string overview() {
    std::string text =
        "lambda-ftp moves files over parallel SABUL flows, to and from a lambda-ftpd.\n\n";
    for (const Form& form : forms()) {
        std::string line = "  " + form.usage();
        line.resize(std::max<std::size_t>(line.size() + 2, 44), ' ');
        text += line + form.about + "\n";
    }
    return text + "\n" + kPlaces + kLanding +
           " Options may stand anywhere before --.\n"
           "\n"
           "lambda-ftp COMMAND --help tells the options of a command. Their defaults may stand in\n"
           "~/.config/lambda-ftp/client.yaml (docs/settings.md).";
}

const char* title(OptionKind kind) {
    switch (kind) {
        case OptionKind::own:
            return "Options";
        case OptionKind::connection:
            return "The session";
        case OptionKind::setting:
            return "Settings, whose defaults stand in ~/.config/lambda-ftp/client.yaml";
        case OptionKind::general:
            return "Everywhere";
    }
    LAMBDA_ASSERT(false);
}

std::string options_of(const Form& form) {
    Arguments unused;
    const std::unique_ptr<const CLI::App> app = make_options(unused);
    std::string text;
    for (const OptionKind kind :
         {OptionKind::own, OptionKind::connection, OptionKind::setting, OptionKind::general}) {
        const auto options = app->get_options([&](const CLI::Option* option) {
            const OptionScope& scope = scope_of("--" + option->get_lnames().front());
            return scope.kind == kind && scope.takes(form);
        });
        if (!options.empty()) text += CLI::Formatter().make_group(title(kind), false, options);
    }
    return text;
}

}  // namespace

std::string help_text(Action action) {
    if (action == Action::help) return overview();
    const Form& form = form_of(action);
    const std::string operands = form.operands;
    std::string text = form.usage() + "\n" + form.about + "\n";
    const bool moves = operands.find("DESTINATION") != operands.npos;
    const bool lands = moves && action != Action::sync;  // that makes one place like the other
    if (moves || operands.find("PLACE") != operands.npos)
        text += std::string("\n") + kPlaces + (lands ? kLanding : "") + "\n";
    text += options_of(form);
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

}  // namespace lambda::client

#include "client/command_line/help.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <utility>

#include "client/command_line/option_scope.h"
#include "client/command_line/options.h"
#include "client/trial/options.h"

namespace lambda::client {
namespace {

constexpr const char* kPlaces =
    "A place is lambda://[user@]host[:port]/path (percent-encoded), [user@]host:path, or a\n"
    "local path.";
constexpr const char* kRemotePlaces =
    "A place is lambda://[user@]host[:port]/path (percent-encoded) or\n[user@]host:path.";
constexpr const char* kLanding =
    " With several sources, or where DESTINATION is a directory or ends in '/',\n"
    "each source lands in it.";
constexpr const char* kLandingOfOne =
    " Where DESTINATION is a directory or ends in '/', SOURCE lands in it.";

constexpr const char* kListing =
    "What a directory holds is listed by name; a file, and what a pattern means, under the\n"
    "path that was asked for.\n";

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

// Where the descriptions begin, and where a line ends.
constexpr std::size_t kColumn = 30;
constexpr std::size_t kWidth = 80;

// Of its own lines but for the first, which stands behind `head`.
std::string described(std::string head, const std::string& text) {
    std::string line = std::move(head);
    std::string lines;
    if (line.size() + 2 > kColumn) lines = std::exchange(line, std::string()) + "\n";
    line.resize(kColumn, ' ');
    bool begun = false;  // the line has a word
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const std::string word = text.substr(at, end - at);
        at = end + 1;
        if (begun && line.size() + 1 + word.size() > kWidth) {
            lines += line + "\n";
            line.assign(kColumn, ' ');
            begun = false;
        }
        line += (begun ? " " : "") + word;
        begun = true;
    }
    return lines + line + "\n";
}

// What may be given is a word of its own, or else stands behind the description.
std::string line_of(const CLI::Option& option, bool takes_list) {
    std::string head = "  ";
    for (const std::string& name : option.get_snames()) head += "-" + name + ",";
    head += "--" + option.get_lnames().front();
    std::string text = option.get_description();
    const std::string value = option.get_type_size() == 0 ? "" : option.get_type_name();
    const bool a_word = value.find(' ') == value.npos;
    if (!value.empty()) head += (a_word ? " " + value : " VALUE") + (takes_list ? ",..." : "");
    if (!a_word) text += " (" + value + ")";
    return described(std::move(head), text);
}

std::string options_of(const Form& form) {
    Arguments unused;
    const std::unique_ptr<const CLI::App> app = make_options(unused);
    std::string text;
    for (const OptionKind kind :
         {OptionKind::own, OptionKind::connection, OptionKind::setting, OptionKind::general}) {
        std::string group;
        for (const CLI::Option* option : app->get_options()) {
            const std::string name = option->get_lnames().front();
            const OptionScope& scope = scope_of("--" + name);
            const bool takes_list = form.action == Action::trial && may_be_swept(name);
            if (scope.kind == kind && scope.takes(form)) group += line_of(*option, takes_list);
        }
        if (!group.empty()) text += std::string("\n") + title(kind) + ":\n" + group;
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
    // A sync makes one place like the other.
    const char* const landing = !moves || action == Action::sync ? ""
                                : form.most == 2                 ? kLandingOfOne
                                                                 : kLanding;
    const bool here = action == Action::put || action == Action::get || action == Action::sync ||
                      action == Action::checksum;
    if (moves || operands.find("PLACE") != operands.npos)
        text += std::string("\n") + (here ? kPlaces : kRemotePlaces) + landing + "\n";
    if (action == Action::ls) text += kListing;
    text += options_of(form);
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

}  // namespace lambda::client

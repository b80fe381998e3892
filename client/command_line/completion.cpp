#include "client/command_line/completion.h"

#include "client/command_line/forms.h"
#include "client/command_line/option_scope.h"
#include "client/command_line/options.h"

namespace lambda::client {
namespace {

std::string words(const std::vector<std::string>& list) {
    std::string text;
    for (const std::string& word : list) (text += text.empty() ? "" : " ") += word;
    return text;
}

std::vector<std::string> action_names() {
    std::vector<std::string> names;
    for (const Form& form : forms()) names.emplace_back(form.name);
    return names;
}

std::string options_of(const Form& form) {
    std::vector<std::string> names;
    for (const OptionScope& scope : option_scopes()) {
        if (scope.takes(form)) names.emplace_back(scope.option);
    }
    return words(names);
}

// By the command, which may stand behind options; all of them where there is none yet.
std::string choice_of_options() {
    std::string text = "    local word options='" + words(option_names()) +
                       "'\n"
                       "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                       "        case $word in\n";
    for (const Form& form : forms()) {
        text += std::string("        ") + form.name + ") options='" + options_of(form) +
                "' command=$word; break;;\n";
    }
    return text +
           "        esac\n"
           "    done\n";
}

}  // namespace

std::string completion_script() {
    return "_lambda_ftp() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} command=\n" +
           choice_of_options() +
           "    if [[ $current == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
           "    elif [[ -z $command ]]; then\n"
           "        COMPREPLY=($(compgen -W '" +
           words(action_names()) +
           "' -- \"$current\"))\n"
           "    else\n"
           "        COMPREPLY=()\n"
           "    fi\n"
           "}\n"
           "complete -o default -F _lambda_ftp lambda-ftp";
}

}  // namespace lambda::client

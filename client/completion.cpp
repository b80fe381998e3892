#include "client/completion.h"

#include "client/forms.h"
#include "client/options.h"

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

}  // namespace

std::string completion_script() {
    return "_lambda_ftp() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]}\n"
           "    if [[ $current == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W '" +
           words(option_names()) +
           "' -- \"$current\"))\n"
           "    elif ((COMP_CWORD == 1)); then\n"
           "        COMPREPLY=($(compgen -W '" +
           words(action_names()) +
           "' -- \"$current\"))\n"
           "    else\n"
           "        COMPREPLY=($(compgen -f -- \"$current\"))\n"
           "    fi\n"
           "}\n"
           "complete -o filenames -F _lambda_ftp lambda-ftp";
}

}  // namespace lambda::client

#include "client/command_line/forms.h"

#include <algorithm>

#include "common/base/assert.h"

namespace lambda::client {
namespace {

constexpr std::size_t kAny = SIZE_MAX;

constexpr Form kForms[] = {
    {Action::put, "put", 2, kAny, "SOURCE... DESTINATION", "local files to a server"},
    {Action::get, "get", 2, kAny, "SOURCE... DESTINATION", "a server's files to here"},
    {Action::copy, "copy", 2, 2, "SOURCE DESTINATION", "from server to server"},
    {Action::copies, "copies", 1, 1, "PLACE", "the copies that a server conducts"},
    {Action::sync, "sync", 2, 2, "SOURCE DESTINATION", "make DESTINATION like SOURCE"},
    {Action::trial, "trial", 1, 1, "PLACE",
     "what the path to a server carries, and what holds it back"},
    {Action::ls, "ls", 1, 1, "PLACE", "what a directory holds, or what a name or pattern means"},
    {Action::stat, "stat", 1, kAny, "PLACE...", "type, size, time and mode"},
    {Action::mkdir, "mkdir", 1, kAny, "PLACE...", "make directories"},
    {Action::rm, "rm", 1, kAny, "PLACE...", "remove files"},
    {Action::rmdir, "rmdir", 1, kAny, "PLACE...", "remove empty directories"},
    {Action::mv, "mv", 2, 2, "PLACE PLACE",
     "rename on one server; the second is the whole new name"},
    {Action::checksum, "checksum", 1, kAny, "PLACE...", "checksums of files, here or there"},
    {Action::audit, "audit", 1, 1, "RECEIPT", "whether files still are what a receipt says"},
    {Action::replicate, "replicate", 1, 2, "JOB.yaml [COMMAND]",
     "a job: run (the default), plan, status, pause, resume, cancel, history, watch"},
    {Action::ping, "ping", 1, 1, "PLACE", "round trips of a session; HOST[:PORT] will do"},
    {Action::version, "version", 0, 0, "", "this program's version"},
    {Action::completion, "completion", 0, 1, "[bash]", "a completion script"},
    {Action::help, "help", 0, 1, "[COMMAND]", "the commands, or the options of one"},
};

}  // namespace

std::string Form::usage() const {
    const std::string text = std::string("lambda-ftp ") + name;
    return *operands == '\0' ? text : text + " " + operands;
}

std::span<const Form> forms() {
    return kForms;
}

const Form& form_of(Action action) {
    const auto form = std::find_if(std::begin(kForms), std::end(kForms),
                                   [&](const Form& f) { return f.action == action; });
    LAMBDA_ASSERT(form != std::end(kForms));
    return *form;
}

const Form* find_form(std::string_view name) {
    const auto form = std::find_if(std::begin(kForms), std::end(kForms),
                                   [&](const Form& f) { return name == f.name; });
    return form == std::end(kForms) ? nullptr : form;
}

}  // namespace lambda::client

#include "client/command_line/help.h"

#include <algorithm>
#include <set>

#include "client/command_line/arguments.h"
#include "client/command_line/completion.h"
#include "client/command_line/option_scope.h"
#include "client/command_line/options.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::client;

namespace {
Result<Arguments> parse(std::vector<const char*> words) {
    return parse_arguments(words, {});
}

// As a line of its own, "  --NAME VALUE ..." or "  -n,--NAME ...".
bool tells(Action action, std::string_view option) {
    const std::string text = help_text(action);
    for (std::size_t at = text.find("\n  -"); at != text.npos; at = text.find("\n  -", at + 1)) {
        const std::string names = text.substr(at + 3, text.find_first_of(" \n", at + 3) - at - 3);
        if (names.substr(names.find("--")) == option) return true;
    }
    return false;
}
}  // namespace

TEST_CASE("each option stands once in the table of scopes, and belongs to a command") {
    std::vector<std::string> scoped;
    for (const OptionScope& scope : option_scopes()) {
        CAPTURE(scope.option);
        scoped.emplace_back(scope.option);
        CHECK(std::any_of(forms().begin(), forms().end(),
                          [&](const Form& form) { return scope.takes(form); }));
        std::string words = commands_of(scope);
        for (std::size_t at; (at = words.find(" and ")) != words.npos;) words.replace(at, 5, ", ");
        for (std::size_t at = 0; at < words.size();) {
            const std::size_t end = std::min(words.find(", ", at), words.size());
            CAPTURE(words);
            CHECK(find_form(words.substr(at, end - at)) != nullptr);
            at = end + 2;
        }
    }
    std::vector<std::string> options = option_names();
    std::sort(options.begin(), options.end());
    std::sort(scoped.begin(), scoped.end());
    CHECK(scoped == options);
    CHECK(std::adjacent_find(scoped.begin(), scoped.end()) == scoped.end());
}

TEST_CASE("each command has a help that tells its options and no others") {
    for (const Form& form : forms()) {
        CAPTURE(form.name);
        const std::string text = help_text(form.action);
        CHECK(text.find(form.usage()) != text.npos);
        CHECK(text.find(form.about) != text.npos);
        if (form.action == Action::help) continue;
        for (const OptionScope& scope : option_scopes()) {
            CAPTURE(scope.option);
            CHECK(tells(form.action, scope.option) == scope.takes(form));
        }
        const auto asked = parse({form.name, "--help"});
        CHECK(asked->action == Action::help);
        CHECK(asked->help_of == form.action);
        const auto named = parse({"help", form.name});
        CHECK(named->action == Action::help);
        CHECK(named->help_of == form.action);
    }
    CHECK(tells(Action::put, "--receipt"));
    CHECK(!tells(Action::put, "--max-delete"));
    CHECK(tells(Action::sync, "--max-delete"));
}

TEST_CASE("where a place is at a server alone, help names no local path") {
    for (const Action action : {Action::put, Action::get, Action::sync, Action::checksum})
        CHECK_THAT(help_text(action), Catch::Contains("local path"));
    for (const Action action :
         {Action::copy, Action::ls, Action::stat, Action::rm, Action::trial}) {
        CHECK_THAT(help_text(action), Catch::Contains("A place is"));
        CHECK_THAT(help_text(action), !Catch::Contains("local path"));
    }
}

TEST_CASE("help is for people: lines that fit, values in words") {
    for (const Form& form : forms()) {
        const std::string text = help_text(form.action);
        CAPTURE(text);
        if (form.action == Action::help) continue;  // of all: two columns of commands
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find('\n', at), text.size());
            CHECK(end - at <= 100);
            at = end + 1;
        }
        for (const char* type : {"UINT", "INT", "TEXT", "FLOAT", " in ["}) {
            CHECK(text.find(type) == text.npos);
        }
    }
    const std::string trial = help_text(Action::trial);
    CHECK(trial.find("\n  --repetitions VALUE         Runs of each case; by default 3. "
                     "(1 to 1000)\n") != trial.npos);
    CHECK(trial.find("\n  --csv FILE                  A line for each run.\n") != trial.npos);
    CHECK(trial.find("\n  --against iperf3|globus-url-copy[:PORT]\n                              "
                     "A program") != trial.npos);
    const auto takes_list = [](Action action, const std::string& option) {
        const std::string text = help_text(action);
        const std::size_t at = text.find("\n  " + option + " ");
        return at != text.npos &&
               text.substr(at, text.find_first_of(" \n", at + option.size() + 4) - at)
                   .ends_with(",...");
    };
    for (const char* option : {"--stripes", "--congestion", "--payload", "--protection"}) {
        CAPTURE(option);
        CHECK(takes_list(Action::trial, option));
        CHECK_FALSE(takes_list(Action::put, option));
    }
    CHECK(takes_list(Action::trial, "--size"));
    CHECK(!parse({"trial", "h:", "--repetitions", "0"}).ok());
    CHECK(!parse({"trial", "h:", "--repetitions", "1001"}).ok());
    CHECK(!parse({"trial", "h:", "--repetitions", "-1"}).ok());
    CHECK(parse({"trial", "h:", "--repetitions", "5"})->trial.repetitions == 5);
}

TEST_CASE("the help of all is one screen, and says where the rest is") {
    const std::string text = help_text(Action::help);
    CHECK(std::count(text.begin(), text.end(), '\n') < 40);
    for (const Form& form : forms()) CHECK(text.find(form.usage()) != text.npos);
    CHECK(text.find("COMMAND --help") != text.npos);
    CHECK(parse({"--help"})->help_of == Action::help);
    CHECK(parse({"help"})->help_of == Action::help);
    CHECK(parse({"frob", "--help"})->help_of == Action::help);
    CHECK(!parse({"help", "frob"}).ok());
    CHECK(!parse({"help", "put", "get"}).ok());
}

TEST_CASE("help wins over what is missing, and over options of other commands") {
    CHECK(parse({"put", "--help"})->help_of == Action::put);
    CHECK(parse({"-h", "--delete", "put"})->help_of == Action::put);
    CHECK(parse({"--stripes", "3", "get", "-h"})->help_of == Action::get);
}

TEST_CASE("an option of another command is refused, by name") {
    const struct {
        std::vector<const char*> words;
        const char* said;
    } cases[] = {
        {{"checksum", "--retry-for", "1h", "h:x"},
         "--retry-for goes with put, get, sync and copy, not with checksum"},
        {{"rm", "--dry-run", "h:x"}, "--dry-run goes with sync, not with rm"},
        {{"put", "-n", "a", "h:"}, "--dry-run goes with sync, not with put"},
        {{"ls", "--exclude", "x", "h:"},
         "--exclude goes with put, get, sync and copy, not with ls"},
        {{"copy", "--receipt", "r", "h:a", "i:b"}, "--receipt goes with put, get and sync"},
        {{"put", "--max-delete", "3", "a", "h:"}, "--max-delete goes with sync"},
        {{"sync", "--range", "1-2", "a", "h:"}, "--range goes with put and get"},
        {{"checksum", "--at", "x", "a"}, "--at goes with audit, not with checksum"},
        {{"copy", "--rate-file", "r", "h:a", "i:b"}, "--rate-file goes with put, get and sync"},
        {{"get", "--against", "iperf3", "h:a", "."}, "--against goes with trial"},
    };
    for (const auto& c : cases) {
        CAPTURE(c.said);
        const auto parsed = parse(c.words);
        REQUIRE(!parsed.ok());
        CHECK(parsed.error().fault == Fault::usage);
        CHECK_THAT(parsed.error().message, Catch::Contains(c.said));
        CHECK_THAT(parsed.error().remedy, Catch::Contains(" --help"));
    }
    for (const auto& words : std::initializer_list<std::vector<const char*>>{
             {"copies", "--wait", "1", "--cancel", "2", "h:"},
             {"put", "--background", "--congestion", "cubic", "a", "h:"},
             {"sync", "--max-delete", "3", "a", "h:"},
             {"put", "--certificate", "c", "a", "h:"}}) {
        CAPTURE(words.front());
        CHECK(parse(words).error().remedy ==
              "see lambda-ftp " + std::string(words.front()) + " --help");
    }
    // What the settings file may hold for all commands, all of them take.
    for (const char* action : {"ls", "ping", "stat"}) {
        CHECK(parse({action, "h:", "--stripes", "3", "--json", "--no-uring", "--background"}).ok());
    }
    CHECK(parse({"version", "--password-file", "x", "--trust-new-host"}).ok());
}

TEST_CASE("completion knows the commands and the options") {
    const std::string script = completion_script();
    CHECK(script.find("--rate-limit") != script.npos);
    CHECK(script.find("checksum") != script.npos);
}

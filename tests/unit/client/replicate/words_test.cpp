// What a job's commands say of its destinations, and how the outcome of a load names its tasks.
#include "client/replicate/words.h"

#include "client/replicate/load.h"
#include "tests/support/catch.h"

namespace lambda::client::replicate {
namespace {

SiteStatus half_done() {
    SiteStatus status{.state = SiteState::moving, .place = "h:x"};
    status.moved = {2, 2 * KiB};
    status.same = {1, 1 * KiB};
    status.waiting = {3, 3 * KiB};
    return status;
}

TEST_CASE("of what nobody does nothing is moving") {
    SiteStatus status = half_done();
    CHECK(words_of_site(status, {}).text ==
          "h:x: moving; moved 2 files, 2.00 KiB; 1 file, 1.00 KiB stood there already; to move 3 "
          "files, 3.00 KiB");
    CHECK_THAT(words_of_site(status, {.run = SiteSaid::Run::cut}).text,
               Catch::StartsWith("h:x: cut, goes on with the next run; moved 2 files"));
    CHECK_THAT(words_of_site(status, {.run = SiteSaid::Run::over}).text,
               Catch::StartsWith("h:x: not done; moved 2 files"));
    CHECK_THAT(words_of_site(status, {.whole = true}).text,
               Catch::Contains("moved 2 files, 2.00 KiB in the whole run; "));
    status.state = SiteState::done;
    CHECK_THAT(words_of_site(status, {.run = SiteSaid::Run::cut}).text,
               Catch::StartsWith("h:x: done; "));
}

TEST_CASE("a run is cut where nobody is at work on it") {
    JobStatus status;
    CHECK(how_it_goes(status) == SiteSaid::Run::over);
    status.run = Run{.id = 1, .shape = {}, .state = RunState::running};
    CHECK(how_it_goes(status) == SiteSaid::Run::cut);
    status.movers.push_back({.owner = "h:1:2"});
    CHECK(how_it_goes(status) == SiteSaid::Run::goes_on);
    status.run->state = RunState::cancelled;
    CHECK(how_it_goes(status) == SiteSaid::Run::over);
}

TEST_CASE("JSON calls a destination what the words call it") {
    SiteStatus given_up = half_done();
    given_up.state = SiteState::given_up;
    JobStatus status{.run = Run{.id = 1, .shape = {}}, .sites = {half_done(), given_up}};
    const auto both = [&](const char* state) {
        const std::string of_one = std::string("\"state\":\"") + state + "\"";
        const std::string of_all = words_of_status({}, status).json.line();
        const std::string of_site =
            words_of_site(half_done(), {.run = how_it_goes(status)}).json.line();
        CHECK_THAT(of_all, Catch::Contains("\"destination\":\"h:x\"," + of_one));
        CHECK_THAT(of_all, Catch::Contains("\"state\":\"given up\""));
        CHECK_THAT(of_site, Catch::Contains(of_one));
    };
    both("cut");
    status.movers.push_back({.owner = "h:1:2"});
    both("moving");
    status.request = Request::pause;
    both("paused");
    status.run->state = RunState::cancelled;
    both("not done");
    CHECK_THAT(summary_of({}, *status.run, status.sites),
               Catch::Contains("\"state\":\"not done\""));
}

TEST_CASE("a summary fits into a variable, whatever the servers answer and how many they are") {
    Run run{.id = 1, .shape = {}};
    run.state = RunState::left_over;
    SiteStatus site = half_done();
    site.trouble = std::string(4000, '\x80');
    const std::vector<SiteStatus> some(6, site);
    CHECK(summary_of({}, run, some).size() > 128 * KiB);
    const std::string cut = summary_of({}, run, some, kMostSummary);
    CHECK(cut.size() <= kMostSummary);
    CHECK_THAT(cut, Catch::Contains("\"trouble\":\"\\udc80"));
    const std::string many = summary_of({}, run, std::vector<SiteStatus>(200, site), kMostSummary);
    CHECK(many.size() <= kMostSummary);
    CHECK_THAT(many, Catch::Contains("\"trouble\":\"\""));
    const std::string most = summary_of({}, run, std::vector<SiteStatus>(2000, site), kMostSummary);
    CHECK_THAT(most, Catch::Contains("\"destinations\":[]"));
}

TEST_CASE("a job that never ran may be paused") {
    CHECK(words_of_status({}, {}).text == ": never run");
    CHECK_THAT(words_of_status({}, {}).json.line(), Catch::Contains("\"paused\":false"));
    const JobStatus paused{.run = {}, .sites = {}, .request = Request::pause};
    CHECK(words_of_status({}, paused).text == ": never run, paused");
    CHECK_THAT(words_of_status({}, paused).json.line(), Catch::Contains("\"paused\":true"));
}

TEST_CASE("history tells of a cut run that it is cut, and of each what it did") {
    Run run{.id = 1, .shape = {}};
    SiteStatus given_up = half_done();
    given_up.state = SiteState::given_up;
    given_up.failed = 5;
    add_so_far(run, {half_done(), given_up});
    CHECK_THAT(words_of_run(run, true).json.line(),
               Catch::Contains("\"state\":\"running\"") &&
                   Catch::Contains("\"files\":4,\"bytes\":4096,\"failed\":5,\"given_up\":1"));
    CHECK_THAT(words_of_run(run, true).text, Catch::Contains("  running  moved 4 files, 4.00 KiB"));
    CHECK_THAT(words_of_run(run, false).json.line(), Catch::Contains("\"state\":\"cut\""));
    CHECK_THAT(words_of_run(run, false).text,
               Catch::Contains("  cut  moved 4 files, 4.00 KiB, ") &&
                   Catch::EndsWith("; the next run goes on from there"));
    run.state = RunState::left_over;
    run.ended = run.started + std::chrono::seconds(2);
    CHECK_THAT(
        words_of_run(run, false).text,
        Catch::EndsWith("  left over  moved 4 files, 4.00 KiB in 2.0 s, 5 files, directories "
                        "and links not done, 1 destination given up"));
}

TEST_CASE("a source that failed as a whole has no name below the destination") {
    Job job;
    job.sites.emplace_back().text = "h:x";
    Failure failure;
    failure.error.message = "cannot open: No such file or directory (/gone/)";
    failure.name = ".";
    CHECK(place_of(job, failure) == "h:x");
    CHECK_THAT(words_of_failure(job, failure).text,
               Catch::StartsWith("left over at h:x: cannot open: "));
    failure.name = "a";
    CHECK(place_of(job, failure) == "h:x: a");
    CHECK_THAT(words_of_failure(job, failure).text,
               Catch::StartsWith("left over at h:x: a: cannot open: "));
}

TEST_CASE("where failures alone are told, the rest is done, if all of them were told of tasks") {
    const TaskNames names{{"a/f", "a/f"}, {"b/f", "b/f"}, {"/src/b/f", "b/f"}, {"c", "c"}};
    mover::Outcome outcome;
    outcome.add_failure("/src/b/f", Error{});
    name_tasks(outcome, names, Told::whole);
    CHECK(outcome.failures.front().name == "b/f");
    rest_is_done(outcome, names);
    CHECK(outcome.done == std::vector<std::string>{"a/f", "c"});
    for (int wrong = 0; wrong < 4; ++wrong) {
        mover::Outcome other = outcome;
        other.done.clear();
        if (wrong == 0) other.add_failure("a", Error{});  // no task
        if (wrong == 1) other.cut.emplace();
        if (wrong == 2) ++other.skipped;  // one that was not told
        if (wrong == 3) other.directories = 1;
        rest_is_done(other, names);
        CHECK(other.done.empty());
    }
}

TEST_CASE("what lies below a task is not taken for another task of its last part") {
    const TaskNames names{{"a", "a"}, {"x", "x"}};
    mover::Outcome outcome;
    outcome.add_failure("a/x", Error{});
    name_tasks(outcome, names, Told::whole);
    CHECK(outcome.failures.front().name == "a/x");
    name_tasks(outcome, names, Told::last_part);
    CHECK(outcome.failures.front().name == "x");
}

}  // namespace
}  // namespace lambda::client::replicate

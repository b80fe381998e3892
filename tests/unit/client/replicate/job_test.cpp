#include "client/replicate/job.h"

#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

namespace lambda::client::replicate {
namespace {

constexpr const char* kLeast = "sources: data/\ndestinations: ann@site:replica\n";

Job parse(const std::string& text) {
    const auto job = parse_job(text, "/etc/jobs/night.yaml", {});
    INFO((job ? "" : job.error().sentence()));
    REQUIRE(job.ok());
    return *job;
}

std::string refusal(const std::string& text) {
    const auto job = parse_job(text, "/etc/jobs/night.yaml", {});
    REQUIRE_FALSE(job.ok());
    CHECK(job.error().fault == Fault::usage);
    return job.error().sentence();
}

TEST_CASE("a job needs sources and destinations, the rest has defaults") {
    const Job job = parse(kLeast);
    CHECK(job.name == "night");
    CHECK(job.direction == session::Direction::put);
    REQUIRE(job.roots.size() == 1);
    CHECK(job.roots[0].path == "/etc/jobs/data/");
    CHECK(job.roots[0].name == ".");
    REQUIRE(job.sites.size() == 1);
    CHECK(job.sites[0].server.host == "site");
    CHECK(job.sites[0].path == "replica");
    CHECK(job.lanes == 1);
    CHECK(job.state.ends_with(".db"));
    CHECK(job.windows.always());
}

TEST_CASE("everything of a job can be said") {
    const Job job = parse(
        "name: nightly\n"
        "sources: [lambda://ann@site/runs, 'ann@site:extra/']\n"
        "destinations: [/srv/a, copies/b]\n"
        "include: '*.h5'\nexclude: ['*.tmp', '- /x']\nlinks: skip\narchive: true\nwhich: missing\n"
        "conflict: fail\nwindows: [mon-fri 20:00-06:00, 'sat,sun']\n"
        "rates: '08:00-18:00 200Mbit/s, 18:00-08:00 max'\nrate_limit: 100Mbit/s\nconcurrency: 4\n"
        "batch_files: 10\nbatch_size: 2MiB\nretries: 5\nback_off: 1s\nlongest_back_off: 2s\n"
        "patience: 2h\nbefore: 'true'\nafter: 'false'\nwebhook: http://host/x\nhook_timeout: 5s\n"
        "state: night.db\npassword_file: secret\nstripes: 8\ncongestion: background\n");
    CHECK(job.direction == session::Direction::get);
    CHECK(job.roots[1].name == ".");
    CHECK(job.sites[1].path == "/etc/jobs/copies/b");
    CHECK(job.sites[1].server.host == "site");
    REQUIRE(job.rules.size() == 3);
    CHECK(job.rules[0] == transfer::Rule{true, "*.h5"});
    CHECK(job.rules[2] == transfer::Rule{false, "/x"});
    CHECK(job.settings.stripes == 8);
    CHECK(job.settings.congestion == "background");
    CHECK(job.state == "/etc/jobs/night.db");
    CHECK(job.password_file == "/etc/jobs/secret");
    CHECK(job.lane_rate({0, 9 * 3600}).bits_per_second == 25e6);   // rate_limit / 4
    CHECK(job.lane_rate({0, 20 * 3600}).bits_per_second == 25e6);  // max is no more than rate_limit
}

TEST_CASE("servers may copy among themselves") {
    const Job job = parse(
        "sources: ann@a:data/\ndestinations: [bob@b:x, 'c:/y']\nsource_password_file: a.pw\n"
        "password_file: others.pw\nconnect: source\nrelay: true\n");
    CHECK(job.direction == session::Direction::put);
    CHECK(job.source->host == "a");
    CHECK(job.source_server()->user == "ann");
    CHECK(job.sites[0].server.host == "b");
    CHECK(job.sites[1].server.host == "c");
    CHECK(job.sites[1].path == "/y");
    CHECK(job.source_password_file == "/etc/jobs/a.pw");
    CHECK(job.connect == Connect::source);
    CHECK(job.relay);
    const std::string to = "\ndestinations: [bob@b:x, 'c:/y']\n";
    CHECK(parse("sources: ann@a:data/" + to).shape() == job.shape());
    CHECK(parse("sources: ann@other:data/" + to).shape() != job.shape());
    CHECK_FALSE(parse(kLeast).source_server());
    CHECK(parse("sources: ann@a:data/\ndestinations: y\n").source_server()->host == "a");
}

TEST_CASE("a fault is said with its place") {
    CHECK_THAT(refusal("destinations: a:b\n"), Catch::Contains("night.yaml:1: sources: names no"));
    CHECK_THAT(refusal("sources: x\n"), Catch::Contains("destinations: names no destination"));
    CHECK_THAT(refusal("sources: x\n\ndestinations: y\n"),
               Catch::Contains("night.yaml:3: destinations: 'y' is here as the sources are"));
    CHECK_THAT(refusal("sources: a:x\ndestinations: [b:y, y]\n"),
               Catch::Contains("'y' is here and the first is not"));
    CHECK_THAT(refusal("sources: a:x\ndestinations: [y, b:y]\n"),
               Catch::Contains("'b:y' is at a server and the first is not"));
    CHECK_THAT(refusal(std::string(kLeast) + "relay: true\n"), Catch::Contains("one server"));
    for (const char* between : {"connect: source\n", "source_password_file: f\n"})
        CHECK_THAT(refusal(std::string(kLeast) + between), Catch::Contains("one server"));
    CHECK_THAT(refusal(std::string(kLeast) + "state: pgsql://h/d\n"),
               Catch::Contains("night.yaml:3: state: the scheme is unknown"));
    CHECK_THAT(refusal("sources: a:x\ndestinations: b:y\nrelay: true\nconflict: keep\n"),
               Catch::Contains("cannot serve others"));
    CHECK_THAT(refusal("sources: [a:x, b:x]\ndestinations: y\n"),
               Catch::Contains("another place than the first"));
    CHECK_THAT(refusal("sources: [a/x, b/x]\ndestinations: h:y\n"), Catch::Contains("would land"));
    for (const char* again : {"y", "y/", "/y", "y/.", "z/../y"}) {
        CHECK_THAT(refusal("sources: x\ndestinations: [h:y, h:" + std::string(again) + "]\n"),
                   Catch::Contains("stands twice"));
    }
    for (const char* inner : {"x", "x/", "x/y", "/x/./y"}) {
        const std::string within = "sources: h:x/\ndestinations: h:" + std::string(inner) + "\n";
        CHECK_THAT(refusal(within), Catch::Contains("lies within it"));
        CHECK(parse_job(within + "exclude: y\n", "night.yaml", {}).ok());
    }
    CHECK(parse_job("sources: h:x/\ndestinations: [h:xy, other:x/y]\n", "night.yaml", {}).ok());
    CHECK_THAT(refusal(std::string(kLeast) + "windows: never\n"),
               Catch::Contains("night.yaml:3: windows: 'never' names no days; allowed: "));
    CHECK_THAT(refusal(std::string(kLeast) + "rates: '08:00-18:00 x'\n"),
               Catch::Contains("'x' is no"));
    CHECK_THAT(refusal(std::string(kLeast) + "retrie: 3\n"),
               Catch::Contains("did you mean retries?"));
    // Of client.yaml, and without effect in a job.
    for (const char* key : {"log_level: debug\n", "retry_for: 1h\n"})
        CHECK_THAT(refusal(std::string(kLeast) + key), Catch::Contains("unknown key"));
    CHECK_THAT(refusal(std::string(kLeast) + "webhook: https://x\n"), Catch::Contains("http://"));
    for (const char* url :
         {"http://", "http://:80/x", "http://u:p@x/", "http://u@x/", "http://x:y"})
        CHECK_THAT(refusal(std::string(kLeast) + "webhook: '" + url + "'\n"),
                   Catch::Contains("names no host and port"));
    CHECK_THAT(refusal(std::string(kLeast) + "webhook: [http://x, http://y]\n"),
               Catch::Contains("where one value is allowed"));
    CHECK_THAT(refusal(std::string(kLeast) + "name: [a, b]\n"), Catch::Contains("a list"));
    CHECK_THAT(refusal(std::string(kLeast) + "before:\n"), Catch::Contains("has no value"));
    CHECK_THAT(refusal(std::string(kLeast) + "batch_files: 0\n"), Catch::Contains("out of range"));
    CHECK_THAT(refusal("sources: a:x\ndestinations: y\nlinks: follow\n"),
               Catch::Contains("night.yaml:3: links"));
    CHECK_THAT(refusal("sources: {a: b}\n"), Catch::Contains("a map cannot stand here"));
}

TEST_CASE("what a root's entries are called at the source") {
    const SourceRoot contents{.text = "d/", .path = "/d/", .name = "."};
    CHECK(contents.path_of(".") == "/d/");
    CHECK(contents.path_of("a/b") == "/d/a/b");
    const SourceRoot tree{.text = "x/d", .path = "/x/d", .name = "d"};
    CHECK(tree.path_of("d") == "/x/d");
    CHECK(tree.path_of("d/a/b") == "/x/d/a/b");
}

TEST_CASE("what must not change within a run is in the shape") {
    const std::string shape = parse(kLeast).shape();
    CHECK(parse(kLeast).shape() == shape);
    CHECK(parse(std::string(kLeast) + "retries: 9\nstripes: 2\n").shape() == shape);
    CHECK(parse(std::string(kLeast) + "exclude: x\n").shape() != shape);
    CHECK(parse("sources: data\ndestinations: ann@site:replica\n").shape() != shape);
}

TEST_CASE("every key is in the documentation") {
    const std::string page = content_of(LAMBDA_SOURCE_DIR "/docs/replication.md");
    for (const config::Key& key : job_keys()) {
        CAPTURE(key.name);
        CHECK(page.find("`" + key.name + "`") != page.npos);
    }
}

TEST_CASE("the shipped job is one") {
    const std::string file = LAMBDA_SOURCE_DIR "/config/replicate.yaml";
    const auto job = load_job(file, {});
    INFO((job ? "" : job.error().sentence()));
    CHECK(job.ok());
}

}  // namespace
}  // namespace lambda::client::replicate

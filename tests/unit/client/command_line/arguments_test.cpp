#include "client/command_line/arguments.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::client;

namespace {
Result<Arguments> parse(std::vector<const char*> words,
                        const config::ClientSettings& defaults = {}) {
    return parse_arguments(words, defaults);
}
}  // namespace

TEST_CASE("options stand anywhere, names are taken as they are") {
    const auto put = parse({"--stripes", "8", "put", "--json", "[a,b]", "++", "", "-q", "h:", "--",
                            "-x", "--json", "--"});
    REQUIRE(put.ok());
    CHECK(put->action == Action::put);
    CHECK(put->settings.stripes == 8);
    CHECK(put->json);
    CHECK(put->quiet);
    CHECK(put->operands ==
          std::vector<std::string>{"[a,b]", "./++", "", "h:", "-x", "--json", "--"});
}

TEST_CASE("every option of a transfer is understood") {
    const auto get = parse({"get",
                            "h:a",
                            ".",
                            "--congestion",
                            "mimd:preset=pr1,T=400ms",
                            "--protection=safe",
                            "--cipher",
                            "chacha20-poly1305",
                            "--rate-limit",
                            "800Mbit/s",
                            "--initial-rate",
                            "1Gbit/s",
                            "--block-size",
                            "4MiB",
                            "--memory",
                            "128MiB",
                            "--syn",
                            "20ms",
                            "--payload",
                            "1440",
                            "--window",
                            "1MiB",
                            "--socket-buffer",
                            "208KiB",
                            "--no-uring",
                            "--trust-new-host",
                            "--ca",
                            "/ca.pem",
                            "--password-file",
                            "/pw",
                            "--left-over",
                            "/left",
                            "--log-level",
                            "info"});
    REQUIRE(get.ok());
    const config::ClientSettings& s = get->settings;
    CHECK(s.congestion == "mimd:preset=pr1,T=400ms");
    CHECK(s.protection == session::Protection::safe);
    CHECK(s.cipher == session::Cipher::chacha20_poly1305);
    CHECK(s.rate_limit == BitRate{800e6});
    CHECK(s.initial_rate == BitRate{1e9});
    CHECK(s.block_size == 4 * MiB);
    CHECK(s.memory == 128 * MiB);
    CHECK(s.syn == std::chrono::milliseconds(20));
    CHECK(s.payload == 1440);
    CHECK(s.window == 1 * MiB);
    CHECK(s.socket_buffer == 208 * KiB);
    CHECK(!s.io_uring);
    CHECK(s.trust_new_host);
    CHECK(s.ca == "/ca.pem");
    CHECK(s.log_level == "info");
    CHECK(get->password_file == "/pw");
    CHECK(get->left_over == "/left");
    CHECK(!parse({"get", "h:a", "."})->settings.cipher.has_value());
}

TEST_CASE("with SHA-256 nothing is adopted by size and time") {
    for (const char* verb : {"put", "get", "sync"}) {
        CHECK(parse({verb, "a", "h:b", "--digest", "sha256"})->plan.checksum);
        CHECK_FALSE(parse({verb, "a", "h:b", "--digest", "xxh3"})->plan.checksum);
        CHECK(parse({verb, "a", "h:b", "--digest", "xxh3", "--checksum"})->plan.checksum);
    }
}

TEST_CASE("the settings file's values are the defaults") {
    config::ClientSettings defaults;
    defaults.stripes = 2;
    defaults.syn = std::chrono::milliseconds(5);
    const auto parsed = parse({"get", "h:a", ".", "--stripes=3"}, defaults);
    REQUIRE(parsed.ok());
    CHECK(parsed->settings.stripes == 3);
    CHECK(parsed->settings.syn == std::chrono::milliseconds(5));
}

TEST_CASE("what the command line says of settings comes before any file that is read later") {
    const auto given = parse({"replicate", "job.yaml", "--stripes", "1", "--rate-limit", "max"});
    REQUIRE(given.ok());
    config::ClientSettings job;
    job.stripes = 2;
    job.rate_limit = BitRate{1e8};
    job.payload = 1440;
    const auto settings = settings_over(job, *given);
    REQUIRE(settings.ok());
    CHECK(settings->stripes == 1);
    CHECK(settings->rate_limit.bits_per_second == 0);
    CHECK(settings->payload == 1440);
}

TEST_CASE("an unknown option is told with what may have been meant") {
    const auto said = [](const char* option) {
        return parse({"sync", option, "a", "h:"}).error().message;
    };
    CHECK_THAT(said("--delet"), Catch::Contains("did you mean --delete?"));
    CHECK_THAT(said("--stripe=4"), Catch::Contains("did you mean --stripes?"));
    CHECK_THAT(said("--stipes"), Catch::Contains("did you mean --stripes?"));
    CHECK_THAT(said("-P"), Catch::Contains("HOST:PORT"));
    CHECK_THAT(parse({"sycn", "a", "h:"}).error().message, Catch::Contains("did you mean sync?"));
    for (const char* of_rsync : {"-r", "-av", "-avz", "--recursive"})
        CHECK_THAT(said(of_rsync), Catch::Contains("trees need no option"));
    CHECK_THAT(parse({"rm", "-r", "h:x"}).error().message, Catch::Contains("rm takes no trees"));
    CHECK_THAT(parse({"ls", "-a", "h:x"}).error().message, !Catch::Contains("trees"));
    CHECK_THAT(said("--zz"), !Catch::Contains("did you mean"));
    CHECK_THAT(said("-9"), !Catch::Contains("did you mean"));
}

TEST_CASE("wrong command lines are usage errors that say what is wrong") {
    const struct {
        std::vector<const char*> words;
        const char* said;
    } cases[] = {
        {{}, "what to do"},
        {{"frob"}, "frob"},
        {{"put"}, "SOURCE"},
        {{"put", "a"}, "SOURCE"},
        {{"ls"}, "PLACE"},
        {{"mv", "h:a", "h:b", "h:c"}, "PLACE"},
        {{"put", "a", "h:", "--frob"}, "--frob"},
        {{"put", "a", "h:", "-z"}, "-z"},
        {{"put", "a", "h:", "--stripes", "0"}, "--stripes"},
        {{"put", "a", "h:", "--stripes", "65"}, "1 to 64"},
        {{"put", "a", "h:", "--stripes"}, "--stripes"},
        {{"put", "--receipt=", "a", "b", "h:"}, "--receipt="},
        {{"put", "a", "h:", "--receipt", ""}, "--receipt"},
        {{"put", "a", "h:", "--from-file", ""}, "--from-file"},
        {{"put", "a", "h:", "--exclude", ""}, "--exclude"},
        {{"audit", "a", "--at", ""}, "--at"},
        {{"trial", "h:", "--csv", ""}, "--csv"},
        {{"put", "a", "h:", "--background", "--congestion", "cubic"}, "--background"},
        {{"put", "a", "h:", "--stage", "s", "--range", "0-", "--retry-for", "1s"}, "--retry-for"},
        {{"put", "a", "h:", "--stage", "s", "--finish", "--left-over", "l"}, "--left-over"},
        {{"replicate", "job.yaml", "plan", "--left-over", "l"}, "--left-over is of a run"},
        {{"copy", "g:a", "h:b", "--detach", "--left-over", "l"}, "--left-over"},
        {{"completion", "zsh"}, "zsh"},
        {{"put", "a", "h:", "--rate-limit", "5 apples"}, "--rate-limit"},
        {{"put", "a", "h:", "--block-size", "1500000"}, "--block-size"},
        {{"put", "a", "h:", "--syn", "1h"}, "--syn"},
        {{"put", "a", "h:", "--protection", "none"}, "private"},
        {{"put", "a", "h:", "--certificate", "x"}, "--key"},
        {{"ls", "h:", "--certificate", "x", "--key", "x", "--password-file", "p"}, "--certificate"},
    };
    for (const auto& c : cases) {
        CAPTURE(c.said);
        const auto parsed = parse(c.words);
        REQUIRE(!parsed.ok());
        CHECK(parsed.error().fault == Fault::usage);
        CHECK_THAT(parsed.error().message, Catch::Contains(c.said));
    }
}

TEST_CASE("a run of a job takes what its other commands do not") {
    CHECK(parse({"replicate", "job.yaml", "--left-over", "/l"})->left_over == "/l");
    CHECK(parse({"replicate", "job.yaml", "run", "--left-over", "/l"})->left_over == "/l");
}

TEST_CASE("--json is seen before a parse") {
    CHECK(wants_json(std::vector<const char*>{"put", "--json"}));
    CHECK(!wants_json(std::vector<const char*>{"put", "--", "--json"}));
}

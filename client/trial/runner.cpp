#include "client/trial/runner.h"

#include <sys/eventfd.h>
#include <sys/resource.h>

#include "client/transfer/attempt.h"
#include "client/waiting.h"
#include "common/io/file/partial_name.h"

namespace lambda::client {
namespace {

constexpr std::uint64_t kProbe = MiB;

std::string zeros(std::uint64_t size) {
    return "/.zero/" + std::to_string(size);
}

double peak_memory_mib() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

// What it says of an outcome that is no success: the first failure tells why.
std::optional<Error> wrong_with(const mover::Outcome& outcome) {
    if (outcome.cut) return *outcome.cut;
    if (!outcome.failures.empty()) return outcome.failures.front().error;
    return std::nullopt;
}

}  // namespace

TrialRunner::TrialRunner(const Arguments& arguments, const Place& place, Report& report)
    : arguments_(arguments),
      server_(*place.server),
      directory_(place.path),
      report_(report),
      silent_({.json = false, .quiet = true, .verbose = false}, now()) {}

TrialRunner::~TrialRunner() {
    to_remove_.insert(to_remove_.end(), to_keep_.begin(), to_keep_.end());
    remove_there();
}

void TrialRunner::remove_there() {
    if (to_remove_.empty()) return;
    // Who was interrupted cleans up all the same.
    const io::Descriptor calm(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    adopt_interruption(dialling::Interruption(calm.get()));
    remove_all_there();
    adopt_interruption(dialling::Interruption(-1));
    to_remove_.clear();
}

void TrialRunner::remove_all_there() {
    auto connection = open_connection(server_, arguments_.access(), [](const std::string&) {});
    if (!connection) {
        report_.note("files of the trial were left at the server: remove .lambda-* in '" +
                     directory_ + "' there");
        return;
    }
    for (const std::string& name : to_remove_) {
        // A run that was cut left what it had under names of its own.
        const std::size_t leaf = name.rfind('/') + 1;
        const std::string partial = name.substr(0, leaf) + io::partial_name(name.substr(leaf));
        for (const std::string& each : {name, partial, io::journal_name(partial)}) {
            const auto reply = (*connection)->exchange("DELE", each);
            // 550: there is none.
            if (!reply || (reply->code >= 400 && reply->code != 550))
                report_.note("a file of the trial was left at the server: " + each);
        }
    }
}

Result<void> TrialRunner::greet() {
    auto connection = open_connection(server_, arguments_.access(),
                                      [this](const std::string& text) { report_.note(text); });
    if (!connection) return connection.error();
    const auto reply = (*connection)->exchange("NOOP");
    if (!reply) return reply.error();
    report_.session_stands();
    return {};
}

std::string TrialRunner::remote_name() const {
    const std::string name = std::string(kOwnName) + random_name();
    return directory_.empty() || directory_.ends_with('/') ? directory_ + name
                                                           : directory_ + "/" + name;
}

Result<mover::Outcome> TrialRunner::move(const TrialCase& what, const std::string& from,
                                         const std::string& to, Leg::Kind kind) {
    Plan plan;
    plan.trial = true;
    plan.server = server_;
    plan.items.push_back({.argument = from, .path = from, .name = "trial"});
    plan.direction = kind == Leg::Kind::put ? session::Direction::put : session::Direction::get;
    if (kind == Leg::Kind::put) {
        plan.remote_target = to;
    } else {
        plan.local_target = {.path = to, .into_directory = false};
    }
    Arguments arguments = arguments_;
    arguments.settings = what.settings;
    auto outcome = attempt_once(std::move(plan), arguments, said_ ? silent_ : report_);
    said_ = true;
    if (!outcome) return outcome;
    if (const auto wrong = wrong_with(*outcome)) return *wrong;
    return outcome;
}

// A server that does not offer memory would take /.null for a file's name: so it is asked first for
// what only one that does can give.
Result<void> TrialRunner::probe_memory() {
    if (!memory_there_) {
        TrialCase what;
        what.settings = arguments_.settings;
        const auto got = move(what, zeros(kProbe), "/.null", Leg::Kind::get);
        memory_there_ = got ? Result<void>{} : Result<void>{got.error()};
        if (!got && got.error().fault == Fault::file) {
            Error error = got.error();
            error.message = "the server offers no memory to read from or write to";
            error.remedy = "start lambda-ftpd with --allow-null";
            memory_there_ = error;
        }
    }
    return *memory_there_;
}

Result<const TrialFile*> TrialRunner::local_file(std::uint64_t size) {
    if (const auto at = local_.find(size); at != local_.end()) return &at->second;
    auto made = TrialFile::make(arguments_.trial.directory, size);
    if (!made) return made.error();
    return &local_.emplace(size, *std::move(made)).first->second;
}

// One of that size at the server: what another leg wrote, or one that is written for this.
Result<std::string> TrialRunner::remote_file(const TrialCase& what) {
    if (const auto at = remote_.find(what.size); at != remote_.end()) return at->second;
    const auto source = local_file(what.size);
    if (!source) return source.error();
    const std::string name = remote_name();
    to_keep_.push_back(name);
    const auto moved = move(what, (*source)->path(), name, Leg::Kind::put);
    if (!moved) return moved.error();
    remote_[what.size] = name;
    return name;
}

Result<Measures> TrialRunner::run(const TrialCase& what) {
    const Leg& leg = what.leg;
    const bool here_reads = leg.kind != Leg::Kind::get && leg.from_disk;
    std::string from = zeros(what.size), to = "/.null";
    std::optional<TrialFile> landing;
    if (here_reads) {
        const auto file = local_file(what.size);
        if (!file) return file.error();
        from = (*file)->path();
    }
    if (leg.kind == Leg::Kind::read) return read_alone(from, what.size, what.settings.io_uring);
    const bool memory_there = leg.kind == Leg::Kind::put ? !leg.to_disk : !leg.from_disk;
    if (memory_there) {
        if (const auto offered = probe_memory(); !offered) return offered.error();
    }
    if (leg.kind == Leg::Kind::get && leg.from_disk) {
        auto file = remote_file(what);
        if (!file) return file.error();
        from = *file;
    }
    if (leg.to_disk && leg.kind == Leg::Kind::put) {
        // A new name for each: what stands there already might not be moved.
        to = remote_name();
        to_remove_.push_back(to);
    } else if (leg.to_disk) {
        auto named = TrialFile::name(arguments_.trial.directory, what.size);
        if (!named) return named.error();
        landing.emplace(*std::move(named));
        to = landing->path();
    }
    const auto outcome = move(what, from, to, leg.kind);
    if (leg.kind == Leg::Kind::put && leg.to_disk) remove_there();
    if (!outcome) return outcome.error();
    Measures run = measures_of(*outcome);
    run.memory_mib = peak_memory_mib();
    return run;
}

}  // namespace lambda::client

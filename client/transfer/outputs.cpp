#include "client/transfer/outputs.h"

#include <filesystem>
#include <iterator>

#include "client/command_line/usage.h"
#include "client/home/home.h"
#include "client/receipt/receipt_reader.h"
#include "client/transfer/left_over.h"
#include "common/report/outputs.h"
#include "common/transfer/filter.h"

namespace lambda::client {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRemedy = "give it another name";

// Whether a put of the tree takes the file, which stands there.
bool found_in(const Item& tree, const transfer::Filter& filter, const std::string& file) {
    std::error_code problem;
    const fs::path top = fs::canonical(tree.path, problem);
    if (problem) return false;
    const fs::path place = fs::canonical(file, problem);
    if (problem) return false;
    const fs::path below = place.lexically_relative(top);
    if (*below.begin() == ".." || below == ".") return false;
    fs::path name = tree.name == "." ? "" : tree.name;
    for (auto part = below.begin(); part != below.end(); ++part) {
        name /= *part;
        if (filter.excludes(name.string(), std::next(part) != below.end())) return false;
    }
    return true;
}

// Whether the place of the left-over list can be looked at: not one below what a get makes. A dry
// run needs none.
bool place_is_there(const Plan& plan, const Arguments& arguments) {
    if (arguments.plan.dry_run) return false;
    if (plan.direction == session::Direction::put) return true;
    std::error_code problem;
    const fs::path made = fs::absolute(plan.local_target.path, problem).lexically_normal();
    const fs::path below =
        fs::path(arguments.left_over).lexically_normal().lexically_relative(made);
    return fs::exists(made, problem) || below.empty() || *below.begin() == "..";
}

}  // namespace

Result<void> check_outputs(const Plan& plan, const Arguments& arguments) {
    if (place_is_there(plan, arguments)) {
        if (auto placed = check_left_over(arguments.left_over); !placed) return placed;
    }
    const struct {
        const std::string& file;
        const char* what;
    } outputs[] = {{arguments.receipt, "the receipt"},
                   {arguments.left_over, "the list of what is left over"}};
    const transfer::Filter filter(arguments.walk.rules);
    const bool puts = plan.direction == session::Direction::put;
    const mover::Target& target = plan.local_target;
    for (const auto& [file, what] : outputs) {
        if (file.empty() || !output_place(file).replaced) continue;
        // A tree may keep the receipt of what was last sent of it.
        const bool earlier = &file == &arguments.receipt && ReceiptReader::open(file).ok();
        for (const Item& item : plan.items) {
            const std::string moved = puts                    ? item.path
                                      : target.into_directory ? joined(target.path, item.name)
                                                              : target.path;
            if (report::one_file(moved, file) || (puts && !earlier && found_in(item, filter, file)))
                return usage(file,
                             std::string(what) + " would take the place of a file that is moved",
                             kRemedy);
        }
    }
    return report::check_apart(
        {{"--receipt", arguments.receipt}, {"--left-over", arguments.left_over}});
}

}  // namespace lambda::client

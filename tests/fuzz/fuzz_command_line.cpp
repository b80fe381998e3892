// The control session's lines as a server reads them: any bytes, however they are cut, give the
// same lines, and what is understood survives being written and read again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/assert.h"
#include "common/session/command.h"
#include "common/session/line.h"

using namespace lambda::session;

namespace {

std::vector<Line> lines_of(std::string_view bytes, std::size_t step) {
    LineFramer framer;
    std::vector<Line> lines;
    while (!bytes.empty()) {
        const std::size_t taken = framer.feed(bytes.substr(0, step));
        LAMBDA_ASSERT(taken > 0);
        bytes.remove_prefix(taken);
        if (framer.ready()) lines.push_back(framer.take());
    }
    return lines;
}

void check(const Line& line) {
    LAMBDA_ASSERT(line.text.size() + 2 <= kMaxLine);
    if (line.fault != LineFault::none) return;
    LAMBDA_ASSERT(fits_line(line.text));
    const std::string wire = format_line(line.text);
    LAMBDA_ASSERT(lines_of(wire, wire.size()) == std::vector<Line>{line});

    const auto command = parse_command(line.text);
    if (!command) return;
    const auto written = format_command(*command);
    LAMBDA_ASSERT(written.ok());
    LAMBDA_ASSERT(*parse_command(lines_of(*written, written->size()).at(0).text) == *command);
    if (const auto join = parse_join(command->argument)) {
        LAMBDA_ASSERT(*parse_join(format_join(*join)) == *join);
    }
    if (const auto checksum = parse_checksum(command->argument)) {
        LAMBDA_ASSERT(*parse_checksum(format_checksum(*checksum)) == *checksum);
    }
}

}  // namespace

// The first byte says in how large pieces the rest arrives.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::vector<Line> lines = lines_of(bytes, std::max<std::size_t>(1, bytes.size()));
    LAMBDA_ASSERT(lines_of(bytes, std::size_t{data[0]} + 1) == lines);
    for (const Line& line : lines) {
        check(line);
#ifdef LAMBDA_FUZZ_PLANTED
        // The bug: a doubled 0xFF counts twice.
        const auto doubled = std::count(line.text.begin(), line.text.end(), '\xff');
        LAMBDA_ASSERT(doubled < 3 || !parse_command(line.text));
#endif
    }
    return 0;
}

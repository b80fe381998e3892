// One file that several movers carry, each a range at a time (docs/ranges.md): ranges meet on a
// stage beside the file's name, and one call makes them the file. Who hands out the ranges is the
// caller's affair; that no two write one range at once, that only verified and flushed bytes count,
// and that no file with a hole gets its name, is seen to here.
//
// Every function dials a session of its own, blocks, and ends early when its thread is interrupted
// (client/waiting.h). Errors and cuts of Fault::cut may pass: the range is being written by another
// (also by one that is stopped), the server is full, the session was lost. Others will not by
// themselves.
#pragma once

#include <cstdint>
#include <string>

#include "client/command_line/arguments.h"
#include "client/remote/place.h"
#include "client/report/report.h"
#include "common/base/file_range.h"
#include "common/session/terms.h"

namespace lambda::client {

struct StagedFile {
    session::Direction direction = session::Direction::put;
    Server server;
    std::string here;                       // the source of a put, the target of a get
    std::string there;                      // likewise, at the server
    std::size_t named = std::string::npos;  // put: of `here`, as in ports::SourceFile
    // `name`: the same for all that carry it, another one where the file is moved anew. `source`:
    // what was planned; a source that is no longer that fails its ranges and the finish. A source
    // of a get may leave the id 0.
    Stage stage;
};

// What stands at the source now; of a file at a server without its id. Fault::file where it is no
// regular file.
Result<FileVersion> version_of_source(const StagedFile& file, const Arguments& arguments,
                                      Report& report);

// Moves the range, verified and flushed: Outcome::files is 1 then, and `bytes` 0 where the range
// (or the whole file) was done before. `bytes` begins and ends at multiples of kStageGrain, or ends
// with the file. `fence` is larger with each lease of these bytes, or 0, which is above all before:
// at the server the session of an older one is ended first, and an older or equal one is refused.
Result<mover::Outcome> carry_range(const StagedFile& file, Range bytes, std::uint64_t fence,
                                   const Arguments& arguments, Report& report);

// Gives the file its mode, its time and its name, durably. Refused where a byte was not carried or
// a range is being written; again where the file stands already with that size and time, it has
// nothing to do. To be called by one who finds all ranges done; several at once do no harm.
Result<void> finish_file(const StagedFile& file, const Arguments& arguments, Report& report);

// Forgets all of it, for a source that has changed; also where nothing is there. Refused while a
// range is being written.
Result<void> discard_ranges(const StagedFile& file, const Arguments& arguments, Report& report);

}  // namespace lambda::client

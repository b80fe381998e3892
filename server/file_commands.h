// The commands on names: PWD, CWD, CDUP, SIZE, MDTM, MLST, MKD, RMD, DELE, RNFR, RNTO. Blocking:
// for a worker thread; what they change is the session's and passed in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/io/file/root.h"
#include "common/session/command.h"
#include "common/session/reply.h"

namespace lambda::server {

struct FilePlace {
    std::string directory = "/";             // the working directory: absolute, no "." or ".."
    std::optional<std::string> rename_from;  // what RNFR named, until the next command
};

bool is_file_command(std::string_view verb);
session::Reply run_file_command(const session::Command& command, const io::Root& root,
                                FilePlace& place);
// What the log says where the command, given in this place, is done; nothing of one that only
// looks.
std::optional<std::string> change_of(const session::Command& command, const FilePlace& place);

// The name of `path` below the root, seen from `directory`. ".." stays in it for the root to judge.
std::string resolve(const std::string& directory, const std::string& path);
// 550 with the error's sentence, or 501 for one of usage.
session::Reply error_reply(const Error& error);

}  // namespace lambda::server

// The user's own files: ~/.config/lambda-ftp and ~/.local/state/lambda-ftp, by the XDG base
// directory specification (XDG_CONFIG_HOME, XDG_STATE_HOME).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/io/file/root.h"

namespace lambda::client {

// Whose process this is, by the password database; nothing: it does not know. Any thread.
struct Account {
    std::string name, home;
};
std::optional<Account> own_account();
// HOME, or what the password database says.
std::string home_directory();
std::string config_directory();
std::string state_directory();
std::string host_name();

// Makes the directory and its parents (0700) where they are missing.
Result<void> make_directories(const std::string& directory);

// Where what a user names as an output goes: behind links; what stands there and is no file, a pipe
// or a device, is written to as it is, and never replaced.
struct OutputPlace {
    std::string path;
    bool replaced = true;
};
OutputPlace output_place(const std::string& path);
// For writing, as it is.
Result<io::Descriptor> open_output(const std::string& path);
// The whole output. A file is replaced (io::replace_file()), and keeps its mode and, as far as this
// user may, owner and group; `mode`, less the umask, is of one that was not there.
Result<void> write_output(const std::string& path, std::string_view content, mode_t mode = 0666);

}  // namespace lambda::client

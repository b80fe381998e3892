#include "client/command_line/sources.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/base/units.h"
#include "common/io/file/root.h"

namespace lambda::client {

Result<std::string> read_whole_file(const std::string& file, std::size_t most) {
    io::Descriptor opened(file == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                      : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened) return errno_error(Fault::usage, "cannot open", file, errno);
    std::string content;
    std::array<char, 65536> piece;
    while (true) {
        const ssize_t got = ::read(opened.get(), piece.data(), piece.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno_error(Fault::usage, "cannot read", file, errno);
        if (got == 0) return content;
        content.append(piece.data(), static_cast<std::size_t>(got));
        if (content.size() <= most) continue;
        return Error{.fault = Fault::usage,
                     .message = "larger than the " + format_size(most) + " allowed here",
                     .path = file,
                     .side = Side::local,
                     .remedy = "split it"};
    }
}

std::vector<std::string> names_in(const std::string& content) {
    const char end_of_name = content.find('\0') != std::string::npos ? '\0' : '\n';
    bool returns = end_of_name == '\n';  // before each line's end; else they are of a name
    std::vector<std::string> names;
    for (std::size_t start = 0; start < content.size();) {
        const std::size_t end = std::min(content.find(end_of_name, start), content.size());
        if (end > start) {
            names.push_back(content.substr(start, end - start));
            returns = returns && (end == content.size() || names.back().back() == '\r');
        }
        start = end + 1;
    }
    if (!returns) return names;
    for (std::string& name : names) {
        if (name.back() == '\r') name.pop_back();
    }
    std::erase(names, std::string());
    return names;
}

}  // namespace lambda::client

#include "common/io/file/virtual_file.h"

#include "common/base/units.h"

namespace lambda::io {
namespace {

constexpr std::uint64_t kDefaultZeros = GiB;

}  // namespace

std::optional<VirtualFile> virtual_file(const Root& root, std::string_view name) {
    if (!root.allow_null()) return std::nullopt;
    name.remove_prefix(std::min(name.find_first_not_of('/'), name.size()));
    if (name == ".null" || name.starts_with(".null/")) {
        return VirtualFile{VirtualFile::Kind::null, 0};
    }
    if (name == ".zero") return VirtualFile{VirtualFile::Kind::zeros, kDefaultZeros};
    constexpr std::string_view sized = ".zero/";
    if (!name.starts_with(sized)) return std::nullopt;
    const auto size = parse_size(name.substr(sized.size()));
    if (!size) return std::nullopt;
    return VirtualFile{VirtualFile::Kind::zeros, *size};
}

}  // namespace lambda::io

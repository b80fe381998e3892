#include "common/transfer/names.h"

#include <algorithm>

#include "common/ports/disk.h"
#include "common/transfer/record.h"

namespace lambda::transfer {

bool acceptable_name(std::string_view name) {
    if (name.empty() || name.size() > kMaxNameBytes || name.find('\0') != name.npos) return false;
    std::size_t start = 0;
    while (start <= name.size()) {
        const std::size_t end = std::min(name.find('/', start), name.size());
        const std::string_view part = name.substr(start, end - start);
        if (part.empty() || part == "." || part == ".." || ports::is_partial_name(part))
            return false;
        start = end + 1;
    }
    return true;
}

}  // namespace lambda::transfer

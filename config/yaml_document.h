// A settings file as its keys and values: one flat map of scalars and lists of scalars, in YAML.
// Nothing else of YAML is let in (anchors, tags, nesting, further documents), and at most
// kMaxDocumentBytes, so that what a file can cost is bounded. Pure but for read_document().
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace lambda::config {

// Ten times what every key with its documentation takes.
constexpr std::size_t kMaxDocumentBytes = 64 * 1024;

struct Entry {
    std::string key;
    int line = 0;  // from 1
    bool is_list = false;
    std::vector<std::string> items;  // one where it is no list; none for a key without a value
};

// "FILE:LINE: KEY: WHAT" as an Error (Fault::usage); without "KEY: " where it is empty.
Error setting_error(const std::string& file, int line, const std::string& key,
                    const std::string& what);

Result<std::vector<Entry>> parse_document(std::string_view text, const std::string& file);

// `what` it is, for the error: "the settings".
Result<std::string> read_document(const std::string& file, const char* what);

}  // namespace lambda::config

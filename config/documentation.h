// docs/settings.md and the shipped server.yaml and client.yaml as the tables of keys give them. A
// test compares the files with these texts; `settings_text` prints them.
#pragma once

#include <string>

namespace lambda::config {

std::string settings_markdown();
std::string server_yaml();
std::string client_yaml();

}  // namespace lambda::config

// The name of a law with its parameters: "mimd:preset=pr1,T=400ms". Names are case-insensitive,
// values are as the law reads them; a parameter that stands twice or that the law does not have is
// refused with the list of those it has. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/base/time.h"
#include "common/base/units.h"

namespace lambda::sabul {

// "mimd" of "MIMD:T=400ms".
std::string law_name_of(std::string_view text);

// Takes typed values out of the parameters of one law and remembers the first error, so that a law
// asks for all it has and finish() is checked once. What is missing or wrong gives `otherwise`.
class Parameters {
  public:
    struct Bounds {
        double least;
        double most;
    };

    explicit Parameters(std::string_view text);

    double number(std::string_view name, double otherwise, Bounds bounds);
    Duration duration(std::string_view name, Duration otherwise, Duration least, Duration most);
    BitRate rate(std::string_view name, BitRate otherwise, BitRate least, BitRate most);
    // The index of the value among `words`.
    std::size_t choice(std::string_view name, std::span<const std::string_view> words,
                       std::size_t otherwise);

    const std::string& law() const { return law_; }
    // Fault::usage for what was wrong, or for a parameter that nobody asked for.
    Result<void> finish() const;

  private:
    struct Given {
        std::string name;
        std::string value;
        bool asked = false;
    };
    const std::string* take(std::string_view name, const std::string& allowed);
    void refuse(std::string message, std::string remedy = {});

    std::string law_;
    std::vector<Given> given_;
    std::string known_;  // "preset (pr0, pr1), T (1ms to 10s)"
    std::optional<Error> error_;
};

}  // namespace lambda::sabul

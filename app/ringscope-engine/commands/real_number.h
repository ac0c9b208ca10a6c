// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>

namespace ringscope::app {

/// A number and nothing else; CLI11 takes an empty text for 0. What its range is says
/// traces/format/schema/run_rules.h.
inline CLI::Validator realNumber() {
  return CLI::Validator(
      [](const std::string& text) {
        char* end = nullptr;
        std::strtod(text.c_str(), &end);
        const bool fine = !text.empty() && end == text.c_str() + text.size();
        return fine ? std::string() : "'" + text + "' is not a number";
      },
      "NUMBER");
}

}  // namespace ringscope::app

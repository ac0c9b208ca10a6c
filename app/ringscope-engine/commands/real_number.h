// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>

namespace ringscope::app {

/// Returns a validator that accepts a number and nothing else, because CLI11 reads an empty text as
/// 0. traces/plan/run_rules.h checks the range.
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

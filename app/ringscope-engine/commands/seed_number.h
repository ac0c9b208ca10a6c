// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>

namespace ringscope::app {

/// A whole number of 64 bits without a sign; CLI11 wraps what has a sign or does not fit.
inline CLI::Validator seedNumber() {
  return CLI::Validator(
      [](const std::string& text) {
        std::uint64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto [stopped, error] = std::from_chars(text.data(), end, value);
        const bool fine = error == std::errc() && stopped == end;
        return fine ? std::string() : "'" + text + "' is not a whole number from 0 to 2^64 - 1";
      },
      "SEED");
}

}  // namespace ringscope::app

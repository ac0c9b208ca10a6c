// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>

namespace ringscope::app {

/// Returns a validator for an unsigned integer of 64 bits, because CLI11 wraps negative and too
/// large numbers.
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

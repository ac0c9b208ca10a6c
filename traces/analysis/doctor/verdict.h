// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "traces/format/schema/names.h"

namespace ringscope::traces {

/// The answer of a rule.
enum class Verdict : std::uint8_t { kFound, kClear, kNotObservable, kCount };

/// The harm of a finding: the numbers are wrong, or they may be.
enum class Severity : std::uint8_t { kError, kWarning, kCount };

/// Whether something else may explain what was recorded.
enum class Confidence : std::uint8_t { kCertain, kLikely, kCount };

template <>
struct EnumNames<Verdict> {
  static constexpr const char* kWhat = "verdict";
  static constexpr std::array kNames = {"found", "clear", "not observable"};
};
template <>
struct EnumNames<Severity> {
  static constexpr const char* kWhat = "severity";
  static constexpr std::array kNames = {"error", "warning"};
};
template <>
struct EnumNames<Confidence> {
  static constexpr const char* kWhat = "confidence";
  static constexpr std::array kNames = {"certain", "likely"};
};

}  // namespace ringscope::traces

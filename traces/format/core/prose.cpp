// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/prose.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace ringscope::traces {
namespace {

std::string printed(const char* format, int digits, double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  std::array<char, 400> text{};  // the largest double has 309 digits before the point
  std::snprintf(text.data(), text.size(), format, digits, value);
  return text.data();
}

/// Formats an amount in the largest unit of which there is at least one. `factor` of one unit make
/// the next unit. A value that would be rounded to `factor` uses the next unit. Values below 100
/// have one decimal, except in the smallest unit.
std::string inUnits(std::int64_t amount, double factor, std::span<const char* const> units) {
  double value = static_cast<double>(amount);
  std::size_t unit = 0;
  while (std::abs(value) >= factor - 0.5 && unit + 1 < units.size()) value /= factor, ++unit;
  const bool whole = unit == 0 || std::abs(value) >= 99.95;
  return printed("%.*f", whole ? 0 : 1, value) + " " + units[unit];
}

}  // namespace

std::string describeBytes(std::int64_t bytes) {
  static constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::string text = inUnits(bytes, 1024, kUnits);
  if (const auto zero = text.find(".0 "); zero != std::string::npos) text.erase(zero, 2);
  return text;
}

std::string describeDuration(std::int64_t ns) {
  static constexpr std::array kUnits = {"ns", "µs", "ms", "s"};
  return inUnits(ns, 1000, kUnits);
}

std::string describeSeconds(double seconds) {
  return describeDuration(std::llround(seconds * 1e9));
}

std::string describeCount(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string describeCount(std::int64_t count, std::string_view noun) {
  return describeCount(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string describeAll(std::int64_t count, std::string_view noun) {
  return count == 1 ? "The " + std::string(noun) : "All " + describeCount(count, noun);
}

std::string describeMultiple(double multiple) {
  if (!std::isfinite(multiple)) return "∞×";
  if (multiple >= 1e9) return printed("%.*e", 1, multiple) + "×";
  if (multiple >= 1e6) return printed("%.*f", 1, multiple / 1e6) + " M×";
  if (multiple >= 1e5) return printed("%.*f", 0, multiple / 1e3) + " k×";
  if (multiple >= 9.95) return describeCount(std::llround(multiple)) + "×";
  return printed("%.*f", 1, multiple) + "×";
}

std::string describeShare(double share) {
  return printed("%.*f", 0, share * 100) + " %";
}

std::string describeSignificant(double value, int digits) {
  return printed("%.*g", digits, value == 0 ? 0.0 : value);  // zero without a sign
}

std::string describeDecimals(double value, int decimals) {
  return printed("%.*f", decimals, value);
}

}  // namespace ringscope::traces

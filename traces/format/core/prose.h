// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ringscope::traces {

// Numbers as text for readers, used by the command line and the window. describe(const Place&)
// formats a place.

/// Formats bytes: "96 B", "128 KiB", "2.1 MiB".
std::string describeBytes(std::int64_t bytes);
/// Formats nanoseconds: "850 ns", "38 µs", "1.2 ms", "3.4 s".
std::string describeDuration(std::int64_t ns);
/// Formats seconds in the same way.
std::string describeSeconds(double seconds);
/// Formats a number with separators: "1,204".
std::string describeCount(std::int64_t count);
/// Formats a number of things: "1 event", "1,204 events". `noun` is the singular of a word whose
/// plural ends in s.
std::string describeCount(std::int64_t count, std::string_view noun);
/// Formats a number of things at the start of a sentence: "The comparison", "All 1,204
/// comparisons".
std::string describeAll(std::int64_t count, std::string_view noun);
/// Formats a multiple: "0.9×", "8,400×", "7.8 M×", "8.5e+37×"; "∞×" when it is not finite.
std::string describeMultiple(double multiple);
/// Formats a share of 1: "87 %".
std::string describeShare(double share);
/// Formats a number with `digits` significant digits: "0.031" with two; "∞", "−∞", "NaN".
std::string describeSignificant(double value, int digits);
/// Formats a number with `decimals` decimals: "3.14" with two; "∞", "−∞", "NaN".
std::string describeDecimals(double value, int decimals);

}  // namespace ringscope::traces

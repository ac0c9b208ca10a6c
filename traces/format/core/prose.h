// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ringscope::traces {

// Numbers as people say them, for the command line and the window alike. A place is put into words
// by describe(const Place&).

/// "96 B", "128 KiB", "2.1 MiB".
std::string describeBytes(std::int64_t bytes);
/// "850 ns", "38 µs", "1.2 ms", "3.4 s".
std::string describeDuration(std::int64_t ns);
/// The same of seconds.
std::string describeSeconds(double seconds);
/// "1,204".
std::string describeCount(std::int64_t count);
/// "1 event", "1,204 events": `noun` is the singular of a word whose plural ends in s.
std::string describeCount(std::int64_t count, std::string_view noun);
/// "The comparison", "All 1,204 comparisons": likewise, to begin a sentence with.
std::string describeAll(std::int64_t count, std::string_view noun);
/// "0.9×", "8,400×", "7.8 M×", "8.5e+37×"; "∞×" when it is not finite.
std::string describeMultiple(double multiple);
/// "87 %" of a share of one.
std::string describeShare(double share);
/// "0.031" with two significant digits; "∞", "−∞", "NaN".
std::string describeSignificant(double value, int digits);
/// "3.14" with two decimals; "∞", "−∞", "NaN".
std::string describeDecimals(double value, int decimals);

}  // namespace ringscope::traces

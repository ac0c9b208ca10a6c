// SPDX-License-Identifier: Apache-2.0
// Numbers as sentences say them, read back: whether they are those that are meant, within what
// rounding leaves out.
#pragma once

#include <cstdint>
#include <string>

namespace ringscope::facts {

/// "850 ns", "1.2 ms".
bool saysDuration(const std::string& said, double ns);
/// "96 B", "2.1 MiB".
bool saysBytes(const std::string& said, double bytes);
/// "87 %".
bool saysShare(const std::string& said, double share);
/// "0.031" of so many significant digits, with nothing behind it.
bool saysSignificant(const std::string& said, double value, int digits);
/// "1,204".
bool saysCount(std::string said, std::int64_t count);

}  // namespace ringscope::facts

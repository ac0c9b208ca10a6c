// SPDX-License-Identifier: Apache-2.0
#include "tests/facts/said.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <regex>
#include <vector>

namespace ringscope::facts {
namespace {

struct Said {
  double number = 0;
  int decimals = 0;
  std::string unit;
};

std::optional<Said> read(const std::string& said) {
  std::smatch parts;
  if (!std::regex_match(said, parts, std::regex("(-?\\d+)(?:\\.(\\d+))? ?(\\D*)"))) return {};
  Said read;
  read.decimals = static_cast<int>(parts[2].length());
  read.number = std::stod(said);
  read.unit = parts[3];
  return read;
}

bool isNear(double said, double meant, double within) {
  return std::abs(said - meant) <= within * (1 + 1e-6) + 1e-9;
}

/// One decimal below a hundred of a unit, which may be left out where it is 0.
bool saysInUnits(const std::string& said, double amount, double factor,
                 const std::vector<std::string>& units) {
  const auto parts = read(said);
  if (!parts) return false;
  const auto at = std::ranges::find(units, parts->unit);
  if (at == units.end()) return false;
  const double unit = std::pow(factor, static_cast<double>(at - units.begin()));
  const bool whole = at == units.begin() || parts->number >= 100;
  // The largest unit of which there is one.
  const bool fits = (at == units.begin() || amount / unit >= 1 - 0.51 / factor) &&
                    (at + 1 == units.end() || parts->number < factor);
  return fits && isNear(parts->number, amount / unit, whole ? 0.5 : 0.05);
}

}  // namespace

bool saysDuration(const std::string& said, double ns) {
  return saysInUnits(said, ns, 1000, {"ns", "µs", "ms", "s"});
}

bool saysBytes(const std::string& said, double bytes) {
  return saysInUnits(said, bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB"});
}

bool saysShare(const std::string& said, double share) {
  const auto parts = read(said);
  return parts && parts->unit == "%" && parts->decimals == 0 &&
         isNear(parts->number, share * 100, 0.5);
}

bool saysSignificant(const std::string& said, double value, int digits) {
  char* end = nullptr;
  const double number = std::strtod(said.c_str(), &end);
  if (said.empty() || *end != '\0') return false;
  const double scale = value == 0 ? 1 : std::pow(10, std::floor(std::log10(std::abs(value))));
  return isNear(number / scale, value / scale, 0.5 * std::pow(10, 1 - digits));
}

bool saysCount(std::string said, std::int64_t count) {
  const bool grouped = count < 1000 || said.find(',') != std::string::npos;
  std::erase(said, ',');
  return grouped && said == std::to_string(count);
}

}  // namespace ringscope::facts

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ringscope::viz {

/// One number of each training step.
struct Curve {
  enum class Says { kNumber, kRate, kBytes, kMultiple };

  std::string name;
  Says says = Says::kNumber;
  /// One for each step of the scene; nullopt: not recorded; it may be no number.
  std::vector<std::optional<double>> values;
  std::vector<std::optional<double>> reference;  ///< of the unsharded step in fp64; empty: of none

  friend bool operator==(const Curve&, const Curve&) = default;
};

/// A curve's value in words: "0.656", "12,400", "5.8 MiB", "0.4×".
std::string describe(const Curve& curve, double value);

}  // namespace ringscope::viz

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

namespace ringscope::traces {

/// How a score of attention follows from a product q·k.
struct ScoreRule {
  double scale = 0;    ///< factor of q·k before the softmax
  double softcap = 0;  ///< c of the scores c·tanh(scale·q·k / c); 0: scores are not capped

  double score(double product) const {
    const double scaled = scale * product;
    return softcap > 0 ? softcap * std::tanh(scaled / softcap) : scaled;
  }
  /// Returns the derivative of a score by scale·q·k.
  double slope(double score) const {
    return softcap > 0 ? 1 - score / softcap * (score / softcap) : 1;
  }
  /// Returns the product that has this score. A score at the softcap has none, and gives a large
  /// one.
  double product(double score) const {
    constexpr double kBelowOne = 1 - 1e-12;
    const double part = softcap > 0 ? std::clamp(score / softcap, -kBelowOne, kBelowOne) : 0;
    return (softcap > 0 ? softcap * std::atanh(part) : score) / scale;
  }
  friend bool operator==(const ScoreRule&, const ScoreRule&) = default;
};

}  // namespace ringscope::traces

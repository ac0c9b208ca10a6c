// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "traces/analysis/verify/recompute/gather.h"

namespace ringscope::traces {

/// The recorded keys of a layer: [batch and KV head, tokens, head_dim].
class LayerKeys {
 public:
  LayerKeys(const Trace& trace, const LayerTensors& layer, const Selection& selection);

  double roundoff() const { return roundoff_; }
  /// Reports whether two rows are equal, save for rounding.
  bool areEqual(std::size_t group, std::size_t a, std::size_t b) const;
  /// Returns the angle from row a to row b in the pair of columns 0 and `second`; nullopt when the
  /// pair is too short to tell, or has two lengths.
  std::optional<double> angle(std::size_t group, std::size_t a, std::size_t b,
                              std::size_t second) const;

 private:
  const double* row(std::size_t group, std::size_t at) const {
    return values_.data() + (group * rows_ + at) * width_;
  }

  std::size_t width_, rows_;
  std::vector<double> values_;
  double roundoff_ = 0;
};

}  // namespace ringscope::traces

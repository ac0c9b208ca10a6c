// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "viz/scene/data.h"

namespace ringscope::viz {

/// A tensor that a paused run holds, so that it can be read.
struct LiveTensor {
  WorldRank rank = WorldRank::of(0);
  std::string name;
  Layer layer;  ///< none: of no layer
  std::string type;
  std::vector<std::int64_t> shape;

  friend bool operator==(const LiveTensor&, const LiveTensor&) = default;
};

/// The last two dimensions of a tensor that a paused run holds, as it was asked for and answered.
struct LiveRead {
  WorldRank rank = WorldRank::of(0);
  std::string tensor;
  Layer layer;                     ///< none: of no layer
  std::vector<std::int64_t> lead;  ///< index of each dimension before the last two

  std::string place;                ///< where the rank had it last
  std::vector<std::int64_t> shape;  ///< of the whole tensor
  std::vector<double> values;       ///< of the slice
  std::string failure;              ///< why it could not be read; empty when it was

  bool sameAs(const LiveRead& other) const {
    return rank == other.rank && tensor == other.tensor && layer == other.layer &&
           lead == other.lead;
  }
};

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "viz/scene/data.h"

namespace ringscope::viz {

/// A message from one rank to another.
struct RankHop {
  WorldRank from, to;

  friend bool operator==(const RankHop&, const RankHop&) = default;
};

/// The parts of a place that a user typed. A part that was not named is nullopt.
struct PlaceWords {
  std::optional<TokenIndex> token;  ///< global index in the sequence
  std::optional<std::int32_t> train_step;
  std::optional<Layer> layer;
  std::optional<RingStep> ring_step;
  std::optional<WorldRank> rank;
  std::optional<traces::Direction> direction;
  std::optional<RankHop> hop;
  std::string problem;  ///< one sentence that says what is accepted; empty: the words are valid

  friend bool operator==(const PlaceWords&, const PlaceWords&) = default;
};

/// The forms that parsePlaceWords() accepts, as the end of a sentence.
inline constexpr const char* kAcceptedPlaces =
    "token 137, layer 1 backward rank 2, step 2 ring step 3 or hop 3→0";

/// Parses a place that a user typed, such as "layer 1 backward rank 2" or "hop 3->0". The parts may
/// stand in any order; commas, "›" and the case of letters do not matter.
PlaceWords parsePlaceWords(const std::string& words);

}  // namespace ringscope::viz

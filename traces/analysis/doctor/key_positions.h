// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "traces/analysis/doctor/readings.h"
#include "traces/format/schema/run_spec.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The positions that the keys of a model's first layer carry.
enum class KeysCount {
  kUnknown,
  kSequence,  ///< a token's place in the sequence, or in its document
  kShard,     ///< a token's place in its rank's shard, or in its part of the document
  kOtherCut   ///< the place of the token that another balance deals to this place of the shard
};

struct KeyPositions {
  KeysCount count = KeysCount::kUnknown;
  Place place;
  WorldRank rank;            ///< not kSequence: a rank whose keys say so
  Balance cut{};             ///< kOtherCut: the other balance
  bool by_document = false;  ///< places are those in packed documents
  std::int64_t pairs = 0;    ///< pairs of equal tokens that tell
};

/// Reads positions from keys: no position ids and no gradients are needed, and models beside the
/// job's own are read too. In a model's first layer, a key depends on its token and its position
/// alone. So the keys of two equal tokens differ by the angle between their positions, which for
/// the fastest pair of a rotary embedding is one radian per token. With embedded positions, only
/// equal keys at equal places of two shards tell. Later layers, and layers without positions, tell
/// nothing. Returns the first layer that counts otherwise, else one that counts in the sequence.
KeyPositions readKeyPositions(const Readings& readings);

}  // namespace ringscope::traces

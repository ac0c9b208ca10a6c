// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/shared_keys.h"

#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// The inputs of one attention on one rank.
struct AttendedKeys {
  const TensorRecord *q = nullptr, *k = nullptr, *v = nullptr;

  /// Reports whether keys of several shards, each as long as the rank's own, are attended. Values
  /// that are all 0, as a projection may begin with, are of no tokens in particular.
  bool areOfSeveralShards() const {
    constexpr std::size_t kRank = 4, kTokens = 2;  // [B, H, S, D]
    if (!q || !k || !v || q->shape.size() != kRank || k->shape.size() != kRank ||
        v->shape.size() != kRank)
      return false;
    const std::int64_t own = q->shape[kTokens], all = k->shape[kTokens];
    return own > 1 && all > own && all % own == 0 && v->shape[kTokens] == all &&
           v->stats.abs_max > 0;
  }
};

AttendedKeys keysAt(const Trace& trace, const Place& place, WorldRank rank) {
  return {trace.findTensor({TensorKind::kQ, ""}, place, rank),
          trace.findTensor({TensorKind::kK, ""}, place, rank),
          trace.findTensor({TensorKind::kV, ""}, place, rank)};
}

bool areEqual(const TensorRecord& a, const TensorRecord& b) {
  return a.shape == b.shape && a.hash_algorithm == b.hash_algorithm && a.hash == b.hash;
}

Finding findingAt(const AttendedKeys& own, const AttendedKeys& other) {
  return {.confidence = Confidence::kLikely,
          .title = "Ranks attend the same values with different keys",
          .place = own.k->place,
          .rank = other.k->rank,
          .buffer = "k",
          .evidence = "Ranks " + toString(own.k->rank) + " and " + toString(other.k->rank) +
                      " attend the same values of " + describeCount(own.k->shape[2], "token") +
                      ", each with " + describeCount(own.q->shape[2]) +
                      " queries of its own, but their keys differ. Something of a rank's own was "
                      "given to the keys of all ranks, such as its rotary table or its part of "
                      "the keys.",
          .remedy =
              "Rotate keys by the positions of their own tokens before they are gathered, and "
              "gather all parts of the keys; or gather the positions with them."};
}

}  // namespace

std::optional<Finding> unlikeSharedKeys(const Trace& trace) {
  for (const TensorRecord& v : trace.tensors()) {
    const bool is_forward = v.place.layer.exists() && v.place.direction == Direction::kForward;
    if (v.tensor.kind != TensorKind::kV || !is_forward || v.place.stage.exists()) continue;
    const AttendedKeys own = keysAt(trace, v.place, v.rank);
    if (!own.areOfSeveralShards()) continue;
    for (int rank = v.rank.value() + 1; rank < trace.worldSize(); ++rank) {
      const AttendedKeys other = keysAt(trace, v.place, WorldRank::of(rank));
      if (other.areOfSeveralShards() && areEqual(*own.v, *other.v) && !areEqual(*own.q, *other.q) &&
          own.k->shape == other.k->shape && !areEqual(*own.k, *other.k))
        return findingAt(own, other);
    }
  }
  return std::nullopt;
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/facts/plan_oracle.h"

namespace ringscope::facts {

/// The (query, key) pairs that a run with a mistake attends, derived from the mistake's description
/// in the catalogue. A mistake that changes no pairs has the pairs of the plan.
class MistakenPairs {
 public:
  MistakenPairs(const PlanOracle& right, const std::string& mistake);

  /// `query_row` is a row of the rank's queries, and `key_row` a row of the block of `source`.
  bool attends(int rank, std::size_t query_row, int source, std::size_t key_row) const;
  bool wants(int rank, std::size_t query_row, int source, std::size_t key_row) const;

  /// Count a rank's pairs: those in its mask, those in its mask that are not attended, and those
  /// outside its mask that are attended.
  std::int64_t wanted(int rank) const;
  std::int64_t leftOut(int rank) const;
  std::int64_t tooMany(int rank) const;
  /// Counts the same pairs in one block.
  std::int64_t tooMany(int rank, int source) const;
  bool changesAny() const;
  /// Two documents, and not padding, meet in some pair that is too many.
  bool crossesDocuments() const;

 private:
  enum class How { kByPlan, kOwnOnly, kOthersWhole, kEndsAtJumps };

  template <typename Holds>
  std::int64_t count(int rank, int source, Holds holds) const;
  /// Number of the part of the rank's rows, which jumps of its tokens end.
  const std::vector<int>& partsFor(int rank) const {
    return parts_[static_cast<std::size_t>(rank)];
  }

  const PlanOracle& right_;
  PlanOracle wrong_;
  How how_;
  std::vector<std::vector<int>> tokens_, parts_;  ///< by rank, of what it attends with
};

}  // namespace ringscope::facts

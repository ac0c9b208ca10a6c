// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/facts/plan_oracle.h"

namespace ringscope::facts {

/// Which (query, key) pairs are attended with a mistake of the catalogue in the run, from what the
/// catalogue says of it. Of mistakes that change no pairs those of the plan.
class MistakenPairs {
 public:
  MistakenPairs(const PlanOracle& right, const std::string& mistake);

  /// Of a row of the tokens that a rank attends with, and one of the block of another.
  bool attends(int rank, std::size_t query_row, int source, std::size_t key_row) const;
  bool wants(int rank, std::size_t query_row, int source, std::size_t key_row) const;

  /// Those of a rank that its mask has, and of them those that are left out; those that it has not
  /// and that are attended nevertheless.
  std::int64_t wanted(int rank) const;
  std::int64_t leftOut(int rank) const;
  std::int64_t tooMany(int rank) const;
  /// The same of one block.
  std::int64_t tooMany(int rank, int source) const;
  bool changesAny() const;
  /// Two documents, and not padding, meet in some pair that is too many.
  bool crossesDocuments() const;

 private:
  enum class How { kByPlan, kOwnOnly, kOthersWhole, kEndsAtJumps };

  template <typename Holds>
  std::int64_t count(int rank, int source, Holds holds) const;
  /// Number of the part of the rank's rows, which jumps of its tokens end.
  const std::vector<int>& partsOf(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }

  const PlanOracle& right_;
  PlanOracle wrong_;
  How how_;
  std::vector<std::vector<int>> tokens_, parts_;  ///< by rank, of what it attends with
};

}  // namespace ringscope::facts

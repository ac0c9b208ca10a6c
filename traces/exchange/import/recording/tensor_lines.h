// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/exchange/import/recording/job.h"

namespace ringscope::traces {

/// The lines of one rank that describe tensors. They are parts of the rank's lines, which must
/// stay.
class TensorLines {
 public:
  /// Of lines without a number, or with that of an earlier one, it says in `problems` that they are
  /// left out.
  TensorLines(const RankLines& rank, std::vector<std::string>& problems);

  /// Null where there is none.
  const Line* of(std::int64_t id) const;
  /// Those of which `what` says the same, in the order of their numbers.
  const std::vector<const Line*>& called(const std::string& what) const;

 private:
  std::unordered_map<std::int64_t, const Line*> by_id_;
  std::map<std::string, std::vector<const Line*>> by_what_;
};

/// Puts one rank's tensors into a job, each at its place; of several for one place the first.
class TensorSink {
 public:
  TensorSink(RecordedJob& job, const RankLines& rank) : job_(job), rank_(rank) {}

  /// Fills in what every line of a tensor says, and where its values are.
  void add(TensorRecord tensor, const Line& line);
  /// Takes a tensor as it is.
  void keep(TensorRecord tensor, std::function<Bytes()> values);

 private:
  struct KeyBefore {
    bool operator()(const TensorKey& a, const TensorKey& b) const { return keyBefore(a, b); }
  };
  RecordedJob& job_;
  const RankLines& rank_;
  std::set<TensorKey, KeyBefore> seen_;
};

/// Elements of a shape; -1 where it is none, or too large to be true.
std::int64_t elementsOf(const std::vector<std::int64_t>& shape);

/// A rank's labels as its loss had them, and the sums of its losses.
void addLosses(RecordedJob& job, const RankLines& rank, const TensorLines& lines, TensorSink& sink);

}  // namespace ringscope::traces

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

/// The lines of one rank that describe tensors. They refer to the rank's lines, which must outlive
/// them.
class TensorLines {
 public:
  /// Indexes the lines. Lines without a number, or with the number of an earlier line, are left out
  /// and reported in `problems`.
  TensorLines(const RankLines& rank, std::vector<std::string>& problems);

  /// Returns the line of this number, or null.
  const Line* of(std::int64_t id) const;
  /// Returns the lines whose field `what` has this value, in the order of their numbers.
  const std::vector<const Line*>& called(const std::string& what) const;

 private:
  std::unordered_map<std::int64_t, const Line*> by_id_;
  std::map<std::string, std::vector<const Line*>> by_what_;
};

/// A sink that adds one rank's tensors to a job, each at its place. The first of several tensors
/// for one place is kept.
class TensorSink {
 public:
  TensorSink(RecordedJob& job, const RankLines& rank) : job_(job), rank_(rank) {}

  /// Adds a tensor. Sets the fields that every line of a tensor has, and finds its values.
  void add(TensorRecord tensor, const Line& line);
  /// Adds a tensor unchanged.
  void keep(TensorRecord tensor, std::function<Bytes()> values);

 private:
  struct KeyBefore {
    bool operator()(const TensorKey& a, const TensorKey& b) const { return keyBefore(a, b); }
  };
  RecordedJob& job_;
  const RankLines& rank_;
  std::set<TensorKey, KeyBefore> seen_;
};

/// Returns the number of elements of a shape; -1 when the shape is missing or impossibly large.
std::int64_t countElements(const std::vector<std::int64_t>& shape);

/// Returns the values of a recorded int64 tensor; empty when they are not recorded or are damaged.
std::vector<std::int64_t> readIntegers(RecordedJob& job, const Line& tensor, HashAlgorithm hash);

/// Adds a rank's labels as its loss had them, and the sums of its losses.
void addLosses(RecordedJob& job, const RankLines& rank, const TensorLines& lines, TensorSink& sink);

}  // namespace ringscope::traces

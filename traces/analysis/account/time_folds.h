// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ringscope::traces {

/// A stretch of time that an axis leaves out.
struct TimeFold {
  std::int64_t begin_ns = 0, end_ns = 0;

  std::int64_t length() const { return end_ns - begin_ns; }
  friend bool operator==(const TimeFold&, const TimeFold&) = default;
};

/// The clock of a run without the stretches during which a gate holds all ranks.
class TimeFolds {
 public:
  TimeFolds() = default;
  /// `folds`: ascending, apart from each other.
  explicit TimeFolds(std::vector<TimeFold> folds) : folds_(std::move(folds)) {
    std::int64_t out = 0;
    for (const TimeFold& fold : folds_) {
      at_.push_back(fold.begin_ns - out);
      before_.push_back(out);
      out += fold.length();
    }
  }

  /// Returns the point of the axis at a time of the run. A time that is left out lies on its fold.
  std::int64_t folded(std::int64_t ns) const {
    const auto after = std::upper_bound(
        folds_.begin(), folds_.end(), ns,
        [](std::int64_t value, const TimeFold& fold) { return value < fold.begin_ns; });
    if (after == folds_.begin()) return ns;
    const auto i = static_cast<std::size_t>(after - folds_.begin()) - 1;
    return ns - before_[i] - (std::min(ns, folds_[i].end_ns) - folds_[i].begin_ns);
  }
  /// Returns the time of the run at a point of the axis; at a fold, the time at which the fold
  /// begins.
  std::int64_t unfolded(std::int64_t axis_ns) const {
    const auto after = std::lower_bound(at_.begin(), at_.end(), axis_ns);
    if (after == at_.begin()) return axis_ns;
    const auto i = static_cast<std::size_t>(after - at_.begin()) - 1;
    return axis_ns + before_[i] + folds_[i].length();
  }
  const std::vector<TimeFold>& all() const { return folds_; }
  /// Returns the point of the axis at which each fold lies.
  const std::vector<std::int64_t>& places() const { return at_; }
  bool empty() const { return folds_.empty(); }
  friend bool operator==(const TimeFolds&, const TimeFolds&) = default;

 private:
  std::vector<TimeFold> folds_;
  std::vector<std::int64_t> at_;      // of each, on the axis
  std::vector<std::int64_t> before_;  // left out before each
};

/// Returns the stretches during which all ranks stand still. `held` has the stretches per rank, in
/// any order.
inline std::vector<TimeFold> heldByAll(const std::vector<std::vector<TimeFold>>& held) {
  struct Edge {
    std::int64_t ns;
    int change;
  };
  std::vector<Edge> edges;
  for (std::vector<TimeFold> of_rank : held) {
    std::sort(of_rank.begin(), of_rank.end(),
              [](const TimeFold& a, const TimeFold& b) { return a.begin_ns < b.begin_ns; });
    std::int64_t until = INT64_MIN;  // a rank counts once however its stretches overlap
    for (const TimeFold& stretch : of_rank) {
      const std::int64_t begin = std::max(stretch.begin_ns, until);
      if (stretch.end_ns <= begin) continue;
      edges.push_back({begin, 1});
      edges.push_back({stretch.end_ns, -1});
      until = stretch.end_ns;
    }
  }
  // Ends before begins, so that stretches that only touch do not overlap.
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return a.ns != b.ns ? a.ns < b.ns : a.change < b.change;
  });
  std::vector<TimeFold> folds;
  int standing = 0;
  const int all = static_cast<int>(held.size());
  for (const Edge& edge : edges) {
    if (standing == all && edge.change < 0 && all > 0) folds.back().end_ns = edge.ns;
    standing += edge.change;
    if (standing == all && edge.change > 0) folds.push_back({edge.ns, edge.ns});
  }
  return folds;
}

}  // namespace ringscope::traces

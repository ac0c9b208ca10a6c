// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "viz/maths/time_window.h"

namespace ringscope::viz {

/// The window of an axis, and the marks and the range that the user has put on it. Knows no pixels.
class ChartState {
 public:
  const TimeWindow& window() const { return window_; }
  const std::vector<double>& marks() const { return marks_; }
  /// Between two points of the axis in their order; nothing: none is measured.
  std::optional<TimeWindow> range() const {
    if (!range_) return std::nullopt;
    return TimeWindow{std::min(range_->first, range_->second),
                      std::max(range_->first, range_->second)};
  }
  /// Its second end still follows the pointer.
  bool measuring() const { return measuring_; }

  void show(const TimeWindow& window, const TimeWindow& all) { window_ = window.within(all); }
  void zoom(double factor, double about_ns, const TimeWindow& all) {
    window_ = window_.zoomed(factor, about_ns, all);
  }
  void pan(double share, const TimeWindow& all) { window_ = window_.panned(share, all); }
  /// Moves as little as shows a point, a tenth away from the edge.
  void reveal(double ns, const TimeWindow& all) {
    const double margin = window_.length() / 10;
    if (ns >= window_.begin_ns && ns <= window_.end_ns) return;
    const double begin = ns < window_.begin_ns ? ns - margin : ns + margin - window_.length();
    window_ = TimeWindow{begin, begin + window_.length()}.within(all);
  }

  /// Puts a mark, or takes away the one that is within `near_ns`.
  void mark(double ns, double near_ns) {
    const auto old = std::find_if(marks_.begin(), marks_.end(),
                                  [&](double each) { return std::abs(each - ns) <= near_ns; });
    if (old != marks_.end())
      marks_.erase(old);
    else
      marks_.push_back(ns);
  }
  /// Begins a range, or ends the one that was begun.
  void measure(double ns) {
    if (!measuring_) range_ = {ns, ns};
    measuring_ = !measuring_;
  }
  void beginRange(double ns) {
    range_ = {ns, ns};
    measuring_ = true;
  }
  /// The second end of a range that was begun.
  void stretchRange(double ns) {
    if (measuring_) range_->second = ns;
  }
  void endRange() { measuring_ = false; }
  bool hasMarksOrRange() const { return range_ || !marks_.empty(); }
  /// False: there was nothing to forget.
  bool forget() {
    const bool had = hasMarksOrRange();
    range_.reset();
    marks_.clear();
    measuring_ = false;
    return had;
  }

 private:
  TimeWindow window_;
  std::vector<double> marks_;
  std::optional<std::pair<double, double>> range_;
  bool measuring_ = false;
};

}  // namespace ringscope::viz

// SPDX-License-Identifier: Apache-2.0
#include "engine/observe/tensor_stats.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ringscope::engine {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Elements that are processed in parallel lanes, so that no addition waits for the previous one.
constexpr std::int64_t kLanes = 8;

/// The minimum, maximum and sum of finite numbers.
class Range {
 public:
  /// Adds kLanes numbers. Returns false, and adds nothing, if one of them is not finite.
  template <typename T>
  bool addLanes(const T* values) {
    std::array<double, kLanes> wide;
    double off = 0;
    for (std::size_t i = 0; i < wide.size(); ++i) {
      wide[i] = static_cast<double>(values[i]);
      off += wide[i] * 0;
    }
    if (off != 0) return false;
    for (std::size_t i = 0; i < wide.size(); ++i) {
      low_[i] = wide[i] < low_[i] ? wide[i] : low_[i];
      high_[i] = wide[i] > high_[i] ? wide[i] : high_[i];
      sum_[i] += wide[i];
    }
    count_ += kLanes;
    return true;
  }
  void add(double value) {
    low_[0] = std::min(low_[0], value);
    high_[0] = std::max(high_[0], value);
    sum_[0] += value;
    ++count_;
  }

  void write(traces::TensorStats& stats) const {
    if (count_ == 0) return;
    double sum = 0;
    for (const double lane : sum_) sum += lane;
    stats.min = *std::min_element(low_.begin(), low_.end());
    stats.max = *std::max_element(high_.begin(), high_.end());
    stats.mean = sum / static_cast<double>(count_);
    stats.abs_max = std::max(std::abs(stats.min), std::abs(stats.max));
  }

 private:
  using Lanes = std::array<double, kLanes>;
  static constexpr Lanes all(double value) {
    Lanes lanes{};
    for (double& lane : lanes) lane = value;
    return lanes;
  }
  Lanes low_ = all(kInfinity), high_ = all(-kInfinity), sum_ = all(0);
  std::int64_t count_ = 0;
};

template <typename T>
void addEach(const T* values, std::int64_t count, Range& range, traces::TensorStats& stats) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    if (std::isfinite(value))
      range.add(value);
    else
      (std::isnan(value) ? stats.nan : stats.inf) += 1;
  }
}

}  // namespace

traces::TensorStats computeStats(const at::Tensor& tensor) {
  traces::TensorStats stats;
  const at::Tensor flat = tensor.detach().contiguous();
  Range range;
  AT_DISPATCH_ALL_TYPES_AND2(at::kBFloat16, at::kHalf, flat.scalar_type(), "computeStats", [&] {
    const auto* data = flat.const_data_ptr<scalar_t>();
    std::int64_t i = 0;
    for (; i + kLanes <= flat.numel(); i += kLanes)
      if (!range.addLanes(data + i)) addEach(data + i, kLanes, range, stats);
    addEach(data + i, flat.numel() - i, range, stats);
  });
  range.write(stats);
  return stats;
}

}  // namespace ringscope::engine

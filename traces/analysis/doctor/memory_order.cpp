// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/memory_order.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace ringscope::traces {
namespace {

using Values = std::span<const double>;
/// [heads, tokens, elements] of one batch entry.
using Shape = std::array<std::size_t, 3>;

/// Whether `there` is `here` with dimensions one and other exchanged, as memory.
bool isExchanged(Values here, Values there, const Shape& shape, std::size_t one,
                 std::size_t other) {
  Shape order = {0, 1, 2};
  std::swap(order[one], order[other]);
  const Shape strides = {shape[1] * shape[2], shape[2], 1};
  std::size_t at = 0;
  for (std::size_t a = 0; a < shape[order[0]]; ++a)
    for (std::size_t b = 0; b < shape[order[1]]; ++b)
      for (std::size_t c = 0; c < shape[order[2]]; ++c)
        if (there[at++] !=
            here[a * strides[order[0]] + b * strides[order[1]] + c * strides[order[2]]])
          return false;
  return true;
}

/// Reports whether values were written in one order and read in another, in either direction.
bool isReordered(Values source, Values block, const Shape& shape) {
  for (const auto& [one, other] : {std::pair{0U, 1U}, std::pair{1U, 2U}, std::pair{0U, 2U}}) {
    Shape turned = shape;
    std::swap(turned[one], turned[other]);
    if (isExchanged(source, block, shape, one, other) ||
        isExchanged(source, block, turned, one, other))
      return true;
  }
  return false;
}

}  // namespace

std::optional<bool> readByOtherStrides(const Trace& trace, const TensorRecord& source,
                                       const TensorRecord& block) {
  constexpr std::size_t kDimensions = 5;
  if (source.shape.size() != kDimensions || source.shape != block.shape) return std::nullopt;
  const auto own = trace.values(source), held = trace.values(block);
  if (!own || !held || own->size() != held->size()) return std::nullopt;
  const auto extent = [&](std::size_t i) { return static_cast<std::size_t>(source.shape[i]); };
  const Shape shape = {extent(2), extent(3), extent(4)};
  const std::size_t each = shape[0] * shape[1] * shape[2];
  for (std::size_t half = 0; half < extent(0); ++half) {
    bool same = true, reordered = true;
    for (std::size_t batch = 0; batch < extent(1); ++batch) {
      const std::size_t begin = (half * extent(1) + batch) * each;
      const Values mine = Values(*own).subspan(begin, each),
                   there = Values(*held).subspan(begin, each);
      same = same && std::ranges::equal(mine, there);
      reordered = reordered && isReordered(mine, there, shape);
    }
    if (!same && !reordered) return false;
  }
  return true;
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/row_sums.h"

#include <ATen/ATen.h>

namespace ringscope::engine {

at::Tensor RowSums::rows(std::int64_t begin, std::int64_t end) const {
  return target_.slice(2, begin, end);
}

void RowSums::clearUpTo(std::int64_t end) {
  if (end <= written_) return;
  rows(written_, end).zero_();
  written_ = end;
}

void RowSums::add(std::int64_t begin, std::int64_t end, const at::Tensor& part) {
  clearUpTo(begin);
  const std::int64_t summed = std::clamp(written_, begin, end);
  if (begin < summed) rows(begin, summed).add_(part.slice(2, 0, summed - begin));
  if (summed < end) rows(summed, end).copy_(part.slice(2, summed - begin));
  written_ = std::max(written_, end);
}

const at::Tensor& RowSums::finished() {
  clearUpTo(target_.size(2));
  return target_;
}

}  // namespace ringscope::engine

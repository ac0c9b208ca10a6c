// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace ringscope::engine {

/// A sum over parts that cover ranges of rows. It copies the first part of each row instead of
/// adding it to zeros, which saves writing and reading the zeros.
class RowSums {
 public:
  /// Makes a sum in `target`, [B, H, S, D]. The contents of `target` are overwritten.
  explicit RowSums(at::Tensor target) : target_(std::move(target)) {}

  /// Adds `part`, [B, H, end − begin, D], to rows [begin, end).
  void add(std::int64_t begin, std::int64_t end, const at::Tensor& part);
  /// Returns the sum. Rows without a part are 0. More parts may be added afterwards.
  const at::Tensor& finished();

 private:
  at::Tensor rows(std::int64_t begin, std::int64_t end) const;
  void clearUpTo(std::int64_t end);

  at::Tensor target_;
  std::int64_t written_ = 0;  // rows before this index hold a sum
};

}  // namespace ringscope::engine

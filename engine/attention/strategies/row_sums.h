// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace ringscope::engine {

/// A sum over parts that cover ranges of rows. It begins with the parts that come first instead of
/// with zeros, which saves a pass over memory to write the zeros and one to read them.
class RowSums {
 public:
  /// `target`: [B, H, S, D], whose contents do not matter.
  explicit RowSums(at::Tensor target) : target_(std::move(target)) {}

  /// `part`: [B, H, end − begin, D].
  void add(std::int64_t begin, std::int64_t end, const at::Tensor& part);
  /// The sum; rows that no part covered are 0. More parts may be added.
  const at::Tensor& finished();

 private:
  at::Tensor rows(std::int64_t begin, std::int64_t end) const;
  void clearUpTo(std::int64_t end);

  at::Tensor target_;
  std::int64_t written_ = 0;  // rows before this one hold a sum
};

}  // namespace ringscope::engine

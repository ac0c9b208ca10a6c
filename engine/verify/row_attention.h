// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "engine/kernels/attention_op.h"

namespace ringscope::engine {

/// Attention in which every sequence of the batch has its own operator, because it has its own
/// mask.
class RowAttention : public AttentionOp {
 public:
  /// One operator a sequence; a single one serves the whole batch.
  explicit RowAttention(std::vector<std::unique_ptr<AttentionOp>> rows) : rows_(std::move(rows)) {}

  void setSinks(at::Tensor sinks) override {
    for (const auto& row : rows_) row->setSinks(sinks);
  }
  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          Layer layer) override;
  AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const AttentionResult& result,
                              Layer layer) override;

 private:
  std::vector<std::unique_ptr<AttentionOp>> rows_;
};

}  // namespace ringscope::engine

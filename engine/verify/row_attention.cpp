// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/row_attention.h"

#include <ATen/ATen.h>

namespace ringscope::engine {
namespace {

/// Sequence i of a batch, as a batch of one.
at::Tensor row(const at::Tensor& t, std::size_t i) {
  return t.narrow(0, static_cast<std::int64_t>(i), 1);
}

}  // namespace

AttentionResult RowAttention::forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      Layer layer) {
  if (rows_.size() == 1) return rows_.front()->forward(q, k, v, layer);
  std::vector<at::Tensor> out, lse;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto part = rows_[i]->forward(row(q, i), row(k, i), row(v, i), layer);
    out.push_back(part.out);
    lse.push_back(part.lse);
  }
  return {at::cat(out, 0), at::cat(lse, 0)};
}

AttentionGradients RowAttention::backward(const at::Tensor& dout, const at::Tensor& q,
                                          const at::Tensor& k, const at::Tensor& v,
                                          const AttentionResult& result, Layer layer) {
  if (rows_.size() == 1) return rows_.front()->backward(dout, q, k, v, result, layer);
  std::vector<at::Tensor> dq, dk, dv;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const AttentionResult own{row(result.out, i), row(result.lse, i)};
    const auto part = rows_[i]->backward(row(dout, i), row(q, i), row(k, i), row(v, i), own, layer);
    dq.push_back(part.dq);
    dk.push_back(part.dk);
    dv.push_back(part.dv);
  }
  return {at::cat(dq, 0), at::cat(dk, 0), at::cat(dv, 0)};
}

}  // namespace ringscope::engine

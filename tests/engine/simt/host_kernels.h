// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace ringscope::simt {

/// Merges a block as the CUDA kernel of that name does; see gpu::mergeRows. Lanes run in the order
/// of `seed`.
void mergeRows(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& block_out,
               const at::Tensor& block_lse, unsigned seed);
/// Quantises rows as the CUDA kernel of that name does; see gpu::quantiseRows.
void quantiseRows(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales,
                  unsigned seed);

}  // namespace ringscope::simt

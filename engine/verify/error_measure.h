// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/sharding/shard_layout.h"
#include "traces/schema/records.h"

namespace ringscope::engine {

/// Half the distance from 1 to the next number of a type.
double unitRoundoff(at::ScalarType type);

/// Fills error, noise, scale, multiple, worst_index and rows of a diff.
/// actual: what the run computed, in global order; reference: the same in fp64; device: the same by
/// one device in the run's type, whose error is the noise floor: its largest, but at least four
/// times its root mean square and a quarter of the unit roundoff of the largest reference value, so
/// that a device result that is exact by luck is no standard. With a layout, multiple_by_rank is
/// filled from the rows that each rank owns along `seq_dim`.
void measureError(traces::DiffRecord& diff, const at::Tensor& actual, const at::Tensor& reference,
                  const at::Tensor& device, const ShardLayout* layout = nullptr,
                  std::int64_t seq_dim = 2);

/// The largest error of each (head, position) over batch and head dimension, float32 [H, S].
struct ErrorMaps {
  at::Tensor absolute;
  at::Tensor relative;  ///< |error| / |reference|; of at least the smallest normal float
  at::Tensor ulp;       ///< in units in the last place of the reference in the type of `actual`
};

/// actual and reference: [B, H, S] or [B, H, S, D], in global order.
ErrorMaps errorMaps(const at::Tensor& actual, const at::Tensor& reference);

}  // namespace ringscope::engine

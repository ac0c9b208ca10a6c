// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/format/schema/records.h"

namespace ringscope::test {

/// Returns a float32 tensor without place or statistics.
inline traces::TensorRecord tensorNamed(const std::string& name, std::vector<std::int64_t> shape,
                                        traces::WorldRank rank = traces::WorldRank::of(0)) {
  traces::TensorRecord record;
  record.tensor = traces::TensorName::of(name);
  record.rank = rank;
  record.shape = std::move(shape);
  return record;
}

}  // namespace ringscope::test

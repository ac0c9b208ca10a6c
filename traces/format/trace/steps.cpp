// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/steps.h"

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

std::set<std::int32_t> stepsWithTensors(const Trace& trace) {
  std::set<std::int32_t> steps;
  for (const TensorRecord& tensor : trace.tensors()) steps.insert(tensor.place.train_step);
  return steps;
}

}  // namespace ringscope::traces

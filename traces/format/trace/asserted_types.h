// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// How a job means a tensor on one axis of its mesh, by a type of spmd_types.
struct AxisType {
  std::string type;                ///< R, I (ranks have the same values), V (others) or P (parts)
  std::vector<WorldRank> members;  ///< of the axis, among them the rank itself; may be empty
};

/// The types that a rank of a PyTorch job asserted of a tensor.
/// Source of their meaning: https://github.com/meta-pytorch/spmd_types, docs/local_spmd_types.md.
struct AssertedType {
  std::int32_t microbatch = 0;
  std::string name;                      ///< the job's; may be empty
  std::string dtype;                     ///< "int64", "float32", …
  std::string shape;                     ///< "[2,16]"
  std::map<std::string, AxisType> axes;  ///< by the name of the axis
  std::string hash;                      ///< of the contents; may be empty
};

/// Returns those of a rank in a training step, in the order of assertion; empty: there are none.
std::vector<AssertedType> assertedTypes(const Trace& trace, std::int32_t train_step,
                                        WorldRank rank);

/// The key of the note of a training step: {"RANK": [object, …]}.
std::string assertedTypesKey(std::int32_t train_step);

}  // namespace ringscope::traces

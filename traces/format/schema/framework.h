// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "traces/format/schema/names.h"

namespace ringscope::traces {

/// The framework that a recorded run was written in. An importer states it in the note
/// kFrameworkNote, as a JSON string of the name. RingScope's own recordings need no such note.
enum class Framework : std::uint8_t {
  kRingScope = 0,
  kPyTorch,
  kTransformers,
  kMegatron,
  kTransformerEngine,
  kCount
};
template <>
struct EnumNames<Framework> {
  static constexpr const char* kWhat = "framework";
  static constexpr std::array<const char*, 5> kNames = {"ringscope", "pytorch", "transformers",
                                                        "megatron", "transformer_engine"};
};

inline constexpr const char* kFrameworkNote = "framework";

}  // namespace ringscope::traces

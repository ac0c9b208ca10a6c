// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "traces/format/schema/event.h"

namespace ringscope::traces {

/// Returns the canonical name of a collective that PyTorch spells in many ways:
/// "c10d::_allgather_base_", "gloo:all_gather" and "allgather_into_tensor_coalesced" are
/// "all_gather". Messages are "send" and "recv". Returns an empty string for any other name.
std::string_view callName(std::string_view name);

/// Reports whether a kernel of this name computes attention: of FlashAttention, or of PyTorch's
/// memory-efficient attention.
bool isAttentionKernel(std::string_view name);

/// Returns the part of a model that an operator or an annotation of PyTorch shows: attention,
/// embedding, loss or optimizer; nullopt when it shows none.
std::optional<EventKind> operatorStage(std::string_view name);

/// Returns the training step that an annotation of PyTorch's profiler names: 3 of
/// "ProfilerStep#3"; nullopt for any other name.
std::optional<std::int32_t> profilerStep(std::string_view name);

/// Reports whether the name of an operator or a kernel says that it computes gradients.
bool namesBackward(std::string_view name);

/// Returns the bytes per element of a type named by PyTorch's dispatcher ("Float") or by C++
/// ("c10::BFloat16"); 0 when the type is unknown.
std::int64_t elementBytes(std::string_view type);

}  // namespace ringscope::traces

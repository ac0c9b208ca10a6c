// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ringscope::traces {

/// One spelling of what PyTorch calls a collective in many: "c10d::_allgather_base_",
/// "gloo:all_gather" and "allgather_into_tensor_coalesced" are "all_gather". "send" and "recv" are
/// messages. Empty: it is none of them.
std::string callName(std::string_view name);

/// Bytes of an element by a type's name as PyTorch's dispatcher ("Float") or C++ ("c10::BFloat16")
/// has it; 0 where it is not known.
std::int64_t elementBytes(std::string_view type);

}  // namespace ringscope::traces

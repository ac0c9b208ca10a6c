// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/schema/run_spec.h"
#include "traces/plan/balance.h"
#include "traces/plan/strategy.h"

namespace ringscope::traces {

/// Returns why a run of this specification cannot work and what would work; nullopt when nothing is
/// known against it. The command line, the engine and the window's form all show this message.
/// Facts that only files or the machine give (a missing model, no GPU) and a seq_len of 0 are not
/// checked. Pure.
std::optional<std::string> refusal(const RunSpec& run);
/// Returns the same for `what`, a length or a document, whose tokens, balance and ranks are known.
std::optional<std::string> lengthRefusal(const std::string& what, std::int64_t length,
                                         Balance balance, std::int32_t cp);

/// Returns the balance that a run uses: the requested one, or head_tail for causal attention on
/// several ranks.
Balance chosenBalance(const RunSpec& run);
/// The name of the buffer with the rotary embedding's table of cos and sin.
inline constexpr const char* kRotaryTable = "freqs_cis";
/// Returns the buffers that a run cuts along the sequence: the requested ones, or all except the
/// rotary table, which is then looked up by position_ids.
std::vector<BufferChoice> chosenBuffers(const RunSpec& run);

/// The largest number of ranks that are threads or processes of one machine.
inline constexpr std::int32_t kMostLocalRanks = 64;

}  // namespace ringscope::traces

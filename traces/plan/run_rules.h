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

/// Why a run of this specification cannot work, and what would; nothing when nothing is known
/// against it. The command line, the engine, the window's form and whoever else makes a run ask
/// this function and say its sentence. What only files or the machine can tell (a missing model, no
/// GPU) is not known here, nor is a seq_len of 0. Pure.
std::optional<std::string> refusal(const RunSpec& run);
/// The same for `what`, a length or a document, of which the tokens, the balance and the ranks are
/// known.
std::optional<std::string> lengthRefusal(const std::string& what, std::int64_t length,
                                         Balance balance, std::int32_t cp);

/// The balance that a run uses: what was asked, or head_tail for causal attention over several
/// ranks.
Balance chosenBalance(const RunSpec& run);
/// The rotary embedding's table of cos and sin, as a buffer.
inline constexpr const char* kRotaryTable = "freqs_cis";
/// The buffers that a run cuts along the sequence: what was asked, or all but the rotary table,
/// which belongs to position_ids then.
std::vector<BufferChoice> chosenBuffers(const RunSpec& run);

/// No run has more ranks that are threads or processes of one machine.
inline constexpr std::int32_t kMostLocalRanks = 64;

}  // namespace ringscope::traces

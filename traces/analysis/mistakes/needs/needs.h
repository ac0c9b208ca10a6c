// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/mistakes/needs/asked_mistake.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::traces {

/// A setting without which a mistake changes nothing of a run, or cannot be made in it.
struct Need {
  /// Whether the run has the setting. True as well where the settings do not tell yet, such as the
  /// heads of a model whose folder was not read (0).
  bool (*is_met)(const RunSpec& run, const AskedMistake& asked);
  /// Continues "--mistake ID …" where the run lacks the setting.
  const char* otherwise;
  /// What to set, after "use ".
  const char* use;
  /// Sets it; null where no field of RunSpec does.
  void (*meet)(RunSpec& run) = nullptr;
};

/// The needs that entries of the catalogue share.
namespace needs {

// The mesh.
extern const Need kSeveralRanks, kSeveralDpRanks, kSeveralLosses, kSeveralInWorld, kSquareMesh;
// The command and what is computed.
extern const Need kTraining, kPaddedAttention, kNoVerify, kSumsOfWholeRows, kDropout, kRecompute,
    kTypeAboveBfloat16, kNoSinksInAttention;
// Strategies and what they send.
extern const Need kOtherBlocks, kMergedBlocks, kHops, kSingleHops, kLongRing, kDiagonalFirst,
    kPlainPackets, kHeadsAndTokens, kSharedHeads, kSeveralKvHeads, kUnequalHeads, kRingOrGather;
// Masks, balances and lengths.
extern const Need kCausal, kFullMask, kFullBlocks, kWindow, kDocuments, kRestarts, kBalance,
    kUselessBalance, kDealtDocuments, kNoDealtDocuments, kUnevenLength, kSeveralSequences,
    kSequencesForRanks;
// Buffers.
extern const Need kPositionIds, kNoRotaryTable, kOtherPositions, kCutBuffer;

}  // namespace needs

/// Query heads and KV heads that one rank attends once the sequence was turned into heads; 0 where
/// the model is not known.
std::int64_t kvHeadsPerRank(const RunSpec& run);

// Validation is asked about these runs instead, where a mistake consists in a check that is
// missing.
RunSpec withCausalMask(const RunSpec& run);
RunSpec withHeadsThatDivide(const RunSpec& run);
RunSpec withLengthThatDivides(const RunSpec& run);

}  // namespace ringscope::traces

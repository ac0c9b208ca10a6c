// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/mistakes/needs/asked_mistake.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::traces {

/// A setting without which a mistake changes nothing of a run, or cannot be made in it.
struct Need {
  /// Reports whether the run has the setting. Also true while the settings do not tell, such as the
  /// heads of a model whose folder was not read (0).
  bool (*is_met)(const RunSpec& run, const AskedMistake& asked);
  /// Continues "--mistake ID …" where the run lacks the setting.
  const char* otherwise;
  /// The advice, after "use ".
  const char* use;
  /// Makes the setting; null when no field of RunSpec does.
  void (*meet)(RunSpec& run) = nullptr;
};

/// The needs that entries of the catalogue share.
namespace needs {

// The mesh.
extern const Need kSeveralRanks, kSeveralDpRanks, kSeveralLosses, kSeveralInWorld, kSquareMesh;
// The command and what is computed.
extern const Need kTraining, kPaddedAttention, kNoVerify, kSumsOfWholeRows, kDropout, kRecompute,
    kTypeAboveBfloat16, kNoSinksInAttention, kSinks, kModelFolder, kOtherProgram;
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

/// Returns the number of KV heads that one rank attends after the all-to-all; 0 when the model is
/// not known.
std::int64_t kvHeadsPerRank(const RunSpec& run);

// The runs about which validation is asked instead, for mistakes that consist in a missing check.
RunSpec withCausalMask(const RunSpec& run);
RunSpec withHeadsThatDivide(const RunSpec& run);
RunSpec withLengthThatDivides(const RunSpec& run);

}  // namespace ringscope::traces

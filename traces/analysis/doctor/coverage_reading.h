// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/analysis/doctor/finding_words.h"
#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// The relation of the attended pairs to the declared mask.
enum class AttentionIs {
  kUnknown,
  kAsDeclared,       ///< every pair of the mask once, and no other
  kOfOwnBlocksOnly,  ///< pairs with keys of other ranks are missing, and nobody attends any
  kOfFutureBlocks,   ///< all later keys of pieces of other ranks' blocks
  kWithoutMask,      ///< all keys that left the window, or that come later, in own blocks too
  kAcrossDocuments,  ///< all that the mask would have if there were no documents, and no other
  kOfPadding,        ///< queries or keys that lie behind a document, as if its slot were its own
  kRepeated,         ///< some pairs again at another ring step
  kCutByCausal,      ///< missing pairs are those that the causal mask of a piece leaves out
  kCutAtJumps,       ///< as if a document began wherever the rank's tokens jump
};

/// The first wrong pass in the order of visiting. The counts are those of `rank`, the first wrong
/// rank.
struct CoverageReading {
  AttentionIs are = AttentionIs::kUnknown;
  std::string missing;    ///< kUnknown: what would settle it
  bool recorded = false;  ///< there are pieces to read, and no capture would keep more
  Place place;            ///< with the ring step of the first wrong piece, where it is one
  std::int32_t microbatch = 0;
  WorldRank rank, source;
  double pairs = 0;       ///< that are wrong: too many, missing, repeated
  double wanted = 0;      ///< that the mask has for the rank
  int ranks = 0, of = 0;  ///< so many ranks do so, of all of the group
  bool causal = false;    ///< of the declared mask
  std::int64_t window = 0;
  bool certain = true;  ///< false: of tile masks only the rows are recorded
};

/// Compares the recorded pieces of attention with the declared mask, by runs of tokens.
CoverageReading readCoverage(const Trace& trace);

/// Returns a rule's answer: a finding with these words when the pairs are `wrong`. The evidence can
/// name {rank}, {source}, {window}, {pairs} and {wanted} with their noun, and {pair count} and
/// {wanted count} without it. It ends with how many ranks do so.
RuleResult answerFrom(const CoverageReading& coverage, AttentionIs wrong,
                      const FindingWords& words);

}  // namespace ringscope::traces

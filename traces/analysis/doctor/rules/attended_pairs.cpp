// SPDX-License-Identifier: Apache-2.0
// Attended pairs: the (query, key) pairs of recorded pieces against the declared mask.
#include <algorithm>

#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/coverage_reading.h"
#include "traces/analysis/doctor/readings.h"

namespace ringscope::traces {
namespace {

// {pairs} and {wanted} are numbers with their noun, {pair count} and {wanted count} without it.

constexpr FindingWords kRingBypassed = {
    "Each rank attends to its own tokens only",
    "No piece of any rank is of another rank's block. Rank {rank} leaves out {pair count} of the "
    "{wanted} that the declared mask has for its queries.",
    "Check that attention is called by the implementation that context parallelism replaces "
    "(scaled_dot_product_attention within context_parallel, or the attention that was registered "
    "with the cp group), and not by a kernel that knows of no ring."};

constexpr FindingWords kFutureAttended = {
    "Later tokens of other ranks' blocks are attended",
    "Of {pairs} that rank {rank} attends the key comes after its query, which the declared mask "
    "does not allow; all are in blocks of other ranks, the first in that of rank {source}.",
    "Skip a block of which every key comes after every query, and of the others attend only the "
    "part that is not in the future: with head_tail the first half of the keys, or the second half "
    "of the queries."};

constexpr FindingWords kCutByCausal = {
    "A causal mask cuts blocks that should be attended whole",
    "Pieces of rank {rank} with a causal mask leave out {pairs} that the declared mask has, of "
    "{wanted count} for its queries; the first such piece is of the block of rank {source}.",
    "Set is_causal only where a rank attends its own block, or where two chunks are the same; "
    "blocks of earlier tokens take no mask, and those of later ones are skipped."};

constexpr const char* kMaskTitle = "Attention is not limited to the declared mask";
constexpr const char* kMaskRemedy =
    "Give the window or mask to the kernel of every block, moved by the distance between the "
    "block's first key and the rank's first query, in every layer that declares it; refuse a "
    "kernel that cannot take it.";
constexpr FindingWords kWindowDropped = {
    kMaskTitle,
    "Rank {rank} attends {pairs} whose key lies outside the declared window of {window}; the mask "
    "has {wanted count} for its queries.",
    kMaskRemedy};
constexpr FindingWords kOrderDropped = {
    kMaskTitle,
    "Rank {rank} attends {pairs} whose key comes after its query, under a causal mask; the mask "
    "has {wanted count} for its queries.",
    kMaskRemedy};

constexpr FindingWords kAcrossDocuments = {
    "Attention crosses the borders of packed documents",
    "Rank {rank} attends {pairs} of two documents, or of padding; the declared mask has {wanted "
    "count} for its queries.",
    "Give attention the borders of the documents (cu_seqlens, or a block-diagonal mask), cut for "
    "each pair of shards as the tokens are."};

constexpr FindingWords kPaddingAttended = {
    "Padding takes part in attention",
    "Rank {rank} attends {pairs} of which one is padding behind a document; the declared mask has "
    "{wanted count} for its queries.",
    "Mask what was padded: give attention where the tokens of each sequence end, and not only "
    "where its padded slot does (cu_seqlens beside cu_seqlens_padded), and set rows without a key "
    "to 0."};

constexpr FindingWords kCutAtJumps = {
    "Positions that jump are taken for the border of a document",
    "Rank {rank} leaves out {pair count} of the {wanted} that the declared mask has for its "
    "queries: those of rows before a jump of its tokens with rows behind it, in the block of every "
    "rank. Where tokens do not jump no pair is missing.",
    "Give attention the mask that is meant, so that none is inferred from position ids "
    "(attention_mask, or cu_seqlens of the whole sequence), the same on all ranks."};

}  // namespace

RuleResult checkRingBypassed(const Readings& readings) {
  return answerFrom(readings.coverage(), AttentionIs::kOfOwnBlocksOnly, kRingBypassed);
}

RuleResult checkNoSkipFutureBlock(const Readings& readings) {
  return answerFrom(readings.coverage(), AttentionIs::kOfFutureBlocks, kFutureAttended);
}

RuleResult checkCausalOnEveryBlock(const Readings& readings) {
  return answerFrom(readings.coverage(), AttentionIs::kCutByCausal, kCutByCausal);
}

RuleResult checkMaskDropped(const Readings& readings) {
  const CoverageReading& coverage = readings.coverage();
  return answerFrom(coverage, AttentionIs::kWithoutMask,
                    coverage.window > 0 ? kWindowDropped : kOrderDropped);
}

RuleResult checkDocumentsIgnored(const Readings& readings) {
  return answerFrom(readings.coverage(), AttentionIs::kAcrossDocuments, kAcrossDocuments);
}

RuleResult checkPaddingUnmasked(const Readings& readings) {
  const Trace& trace = readings.trace();
  const CoverageReading& coverage = readings.coverage();
  RuleResult result = answerFrom(coverage, AttentionIs::kOfPadding, kPaddingAttended);
  // Padding lies after its document, where no query of a causal mask attends it. Rows of padding
  // may be compared too, and then they are wrong.
  if (coverage.causal && std::ranges::none_of(trace.diffs(), diverges))
    for (Finding& f : result.findings) f.severity = Severity::kWarning;
  return result;
}

RuleResult checkPositionsReadAsDocuments(const Readings& readings) {
  return answerFrom(readings.coverage(), AttentionIs::kCutAtJumps, kCutAtJumps);
}

}  // namespace ringscope::traces

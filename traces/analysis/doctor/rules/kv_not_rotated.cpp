// SPDX-License-Identifier: Apache-2.0
// At every ring step a rank holds another block, and attends no (query, key) pair twice.
#include "traces/analysis/doctor/block_reading.h"
#include "traces/analysis/doctor/coverage_reading.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

constexpr const char* kRotationRemedy =
    "After each ring step make the block that has arrived the one that is attended (and wait for "
    "it first); swap the two buffers every step.";

}  // namespace

RuleResult checkKvNotRotated(const Trace& trace) {
  RuleResult by_pairs = answerOf(
      readCoverage(trace), AttentionIs::kRepeated, "kv_not_rotated",
      [](const CoverageReading& coverage, Finding& f) {
        f.title = "A block is attended more than once";
        f.evidence = "Rank " + toString(coverage.rank) + " attends " +
                     describeCount(static_cast<std::int64_t>(coverage.pairs), "(query, key) pair") +
                     " again, of the block of rank " + toString(coverage.source) + ". " +
                     describeExtent(coverage);
        f.remedy = kRotationRemedy;
      });
  if (by_pairs.verdict == Verdict::kFound) return by_pairs;
  const RuleResult by_hashes = answerOf(
      readBlocks(trace), BlocksAre::kNeverRotated, "kv_not_rotated",
      [](const BlockReading& blocks, Finding& f) {
        f.title = "The same KV block is used at every ring step";
        f.evidence = "At " + std::to_string(blocks.wrong) + " of " + std::to_string(blocks.of) +
                     " ring steps with a block of another "
                     "rank, rank " +
                     toString(blocks.rank) +
                     " attends the one that it began with: where it should have that of "
                     "rank " +
                     toString(blocks.source) + " the hash is still that of rank " +
                     toString(blocks.held) + "'s.";
        f.remedy = kRotationRemedy;
      });
  return by_hashes.verdict == Verdict::kClear ? by_pairs : by_hashes;
}

}  // namespace ringscope::traces

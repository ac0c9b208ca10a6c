// SPDX-License-Identifier: Apache-2.0
// What was merged against what came of it: blocks whose lse are finite, or −inf where a row has no
// key, never make a NaN or +inf, and a row that has keys never becomes −inf.
#include "traces/core/prose.h"
#include "traces/doctor/merge_reading.h"
#include "traces/doctor/rule.h"

namespace ringscope::traces {
namespace {

Finding finding(const MergeReading& judged) {
  // Where exp of a float overflows, or becomes 0.
  constexpr double kLargest = 88, kSmallest = -87;
  const bool wide =
      !judged.rows_without_keys || judged.largest > kLargest || judged.smallest < kSmallest;
  Finding f;
  f.rule = "lse_overflow";
  f.severity = "error";
  f.confidence = wide ? "certain" : "likely";
  f.title = wide ? "The merge of blocks overflows" : "The merge makes NaN of rows without a key";
  f.place = judged.running->place;
  f.rank = judged.running->rank;
  f.buffer = "running_lse";
  const char* becomes = judged.is == MergeIs::kNotANumber ? "NaN"
                        : judged.is == MergeIs::kInfinite ? "+inf"
                                                          : "−inf in a row that has keys";
  f.evidence = std::string("running_lse is ") + becomes + ", though every block_lse up to there " +
               (judged.rows_without_keys ? "is −inf, for rows without a key, or" : "is") +
               " from " + describeSignificant(judged.smallest, 3) + " to " +
               describeSignificant(judged.largest, 3) +
               (wide ? ": exp of a float is infinite above 88 and 0 below −103."
                     : ": log(exp(lse) + exp(block_lse)) is −inf where both are, and the weights "
                       "0 / 0.");
  f.remedy =
      "Take out the larger one before exp: m = max(lse, block_lse), lse' = m + log(exp(lse − m) + "
      "exp(block_lse − m)), and leave a row as it is where block_lse is −inf.";
  return f;
}

}  // namespace

RuleResult checkLseOverflow(const Trace& trace) {
  const MergeReading merges = readMerges(trace);
  if (merges.isWrong()) return found(finding(merges));
  if (merges.is == MergeIs::kRight) return clear();
  return notObservable(
      "needs the values of block_lse and running_lse, whose rows without a key are infinite by "
      "right");
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
// What was merged against what came of it: blocks whose lse are finite, or −inf where a row has no
// key, never make a NaN or +inf, and a row that has keys never becomes −inf.
#include "traces/analysis/doctor/merge_reading.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// Where exp of a type overflows, where its digits get fewer, and where it becomes 0.
struct Limits {
  const char* type;
  double infinite, smallest;
  const char* zero;
};

Limits limitsOf(const TensorRecord& running) {
  if (running.dtype == DType::kFloat64) return {"double", 709, -708, "−745"};
  return {"float", 88, -87, "−103"};
}

Finding finding(const MergeReading& judged) {
  const Limits limits = limitsOf(*judged.made);
  const bool of_out = judged.is == MergeIs::kOutNotANumber;
  const bool wide = !of_out && (!judged.rows_without_keys || judged.largest > limits.infinite ||
                                judged.smallest < limits.smallest);
  Finding f;
  f.rule = "lse_overflow";
  f.severity = "error";
  f.confidence = wide ? "certain" : "likely";
  f.title = wide ? "The merge of blocks overflows" : "The merge makes NaN of rows without a key";
  f.place = judged.made->place;
  f.rank = judged.made->rank;
  f.buffer = of_out ? "out" : "running_lse";
  const char* becomes = judged.is == MergeIs::kLost       ? "−inf in a row that has keys"
                        : judged.is == MergeIs::kInfinite ? "+inf"
                                                          : "NaN";
  f.evidence =
      f.buffer + " is " + becomes + ", though " +
      (of_out ? "every block_out is finite, and " : "") + "every block_lse up to there " +
      (judged.rows_without_keys ? "is −inf, for rows without a key, or" : "is") + " from " +
      describeSignificant(judged.smallest, 3) + " to " + describeSignificant(judged.largest, 3) +
      (wide ? std::string(": exp of a ") + limits.type + " is infinite above " +
                  describeSignificant(limits.infinite, 3) + " and 0 below " + limits.zero + "."
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

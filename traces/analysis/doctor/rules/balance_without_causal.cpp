// SPDX-License-Identifier: Apache-2.0
// What was declared: a balance that evens out causal work, and a mask that is not causal.
#include "traces/analysis/doctor/rule.h"
#include "traces/plan/run_rules.h"

namespace ringscope::traces {
namespace {

Finding finding(std::int32_t train_step, Balance balance) {
  Finding f;
  f.rule = "balance_without_causal";
  f.severity = "warning";
  f.confidence = "certain";
  f.title = "A load balance with full attention";
  f.place = {train_step};
  f.evidence = std::string("The sequence is dealt by ") + name(balance) +
               ", and every query attends to every key: all shards have the same work without "
               "it, and code that skips blocks by their place in a causal order drops some.";
  f.remedy = "Turn the load balance off where attention is not causal (enable_load_balance=False).";
  return f;
}

}  // namespace

RuleResult checkBalanceWithoutCausal(const Trace& trace) {
  const RunSpec* run = trace.run();
  if (run && run->cp == 1) return clear();
  for (const IntentRecord& meant : trace.intents())
    if (meant.ranks.size() != 1 && meant.mask == MaskKind::kFull && evensCausalWork(meant.balance))
      return found(finding(meant.train_step, meant.balance));
  if (!trace.intents().empty()) return clear();
  if (!run) return notObservable("needs what was declared of the mask and the balance");
  if (run->mask == MaskKind::kFull && evensCausalWork(chosenBalance(*run)))
    return found(finding(0, chosenBalance(*run)));
  return clear();
}

}  // namespace ringscope::traces

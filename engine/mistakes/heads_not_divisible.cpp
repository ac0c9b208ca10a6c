// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {
namespace {

using Reason = std::optional<std::string>;

/// Everything else that could be wrong with the run is asked as of a ring, which cuts no heads.
Reason refusedButForHeads(const traces::RunSpec& run,
                          const std::function<Reason(const traces::RunSpec&)>& correct) {
  const std::int32_t ranks = traces::ulyssesSize(run);
  const std::int64_t heads = run.tp > 0 ? run.model.heads / run.tp : 0;
  const bool can_be_asked = heads > 0 && ranks > 0 && run.cp % ranks == 0;
  if (!can_be_asked) return correct(run);
  if (heads % ranks == 0) {
    const Reason reason = correct(run);
    if (reason) return reason;
    return "heads_not_divisible changes nothing here: " + std::to_string(heads) +
           " query heads divide among " + std::to_string(ranks) +
           (ranks == 1 ? " rank" : " ranks") +
           "; use --strategy ulysses with a --cp that does not divide them, or hybrid with such an "
           "--ulysses";
  }
  if (heads < ranks) return correct(run);  // a rank without a head has nothing to compute
  traces::RunSpec as_ring = run;
  as_ring.strategy = traces::Strategy::kHybrid;
  as_ring.ulysses = 1;
  return correct(as_ring);
}

}  // namespace

/// Nobody asks whether the heads divide: each rank takes heads ÷ ranks of them, rounded down, and
/// the last heads are nobody's.
void injectHeadsNotDivisible(Seams& seams) {
  seams.checks.refusal = [before = seams.checks.refusal](const traces::RunSpec& run) {
    return refusedButForHeads(run, before);
  };
}

}  // namespace ringscope::engine

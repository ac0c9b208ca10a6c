// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_config.h"

#include "traces/core/error.h"

namespace ringscope::engine {

nlohmann::json StepLog::toJson() const {
  return {{"step", step},       {"loss", loss},       {"grad_norm", grad_norm},
          {"targets", targets}, {"seconds", seconds}, {"peak_bytes", peak_bytes}};
}

Balance chooseBalance(const std::string& asked, const Mask& mask, int cp_size) {
  if (asked.empty()) return mask.causal && cp_size > 1 ? Balance::kHeadTail : Balance::kNone;
  const Balance balance = parseBalance(asked);
  if (!mask.causal && (balance == Balance::kHeadTail || balance == Balance::kStriped))
    throw usageError("--balance " + asked +
                     " evens out causal work; with a full mask every shard has the same work "
                     "already, so use --balance none");
  return balance;
}

}  // namespace ringscope::engine

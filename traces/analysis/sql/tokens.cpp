// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "traces/analysis/compare/token_losses.h"
#include "traces/analysis/verify/recompute/step_tensors.h"
#include "traces/exchange/tables/table.h"

namespace ringscope::traces {
namespace {

const std::vector<Column>& tokenColumns() {
  static const auto kColumns = columnsFor<TokenLoss>(
      {{"train_step", "training step, from 0"},
       {"sequence", "of the whole batch, from 0"},
       {"token", "its index in the sequence; NULL: which tokens the rank has is not recorded"},
       {"rank", "whose token it is"},
       {"label", "the token that it should predict"},
       {"loss", "its cross entropy in fp64, with label smoothing where the job used it"},
       {"log_probability", "of the label, natural logarithm"}});
  return kColumns;
}

std::vector<TokenLoss> allTokenLosses(const QueriedTrace& traced) {
  std::set<std::int32_t> steps;
  for (const TensorRecord& tensor : traced.trace().tensors())
    if (tensor.tensor.kind == TensorKind::kLogits && tensor.has_values)
      steps.insert(tensor.place.train_step);
  const auto owners = tokenOwners(traced.trace());
  std::vector<TokenLoss> all;
  for (const std::int32_t step : steps) {
    traced.checkTime();
    const auto losses = tokenLosses(traced.trace(), step, owners);
    all.insert(all.end(), losses.tokens.begin(), losses.tokens.end());
  }
  return all;
}

std::unique_ptr<TableRows> openTokens(const QueriedTrace& traced, std::span<const QueryCondition>) {
  const auto& all =
      traced.once<std::vector<TokenLoss>>("tokens", [&] { return allTokenLosses(traced); });
  return std::make_unique<RecordRows<TokenLoss>>(all, tokenColumns());
}

}  // namespace

const Table kTokensTable = {
    "tokens", "the loss of one target; empty where logits were not kept (--capture full)",
    tokenColumns, openTokens};

}  // namespace ringscope::traces

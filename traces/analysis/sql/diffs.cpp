// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/tables/table.h"

namespace ringscope::traces {
namespace {

const std::vector<Column>& diffColumns() {
  static const auto kColumns = columnsFor<DiffRecord>(
      {{"isolated", "1: of the layer by itself; 0: of the whole step, end to end"},
       {"train_step", "training step, from 0"},
       {"layer", "decoder layer; NULL for loss and gradients of parameters"},
       {"direction", "of the pass through the layers"},
       {"stage", "always NULL"},
       {"tensor", "what was compared"},
       {"largest", "largest absolute difference from the fp64 reference"},
       {"error", "of the worst row: 2-norm of the difference"},
       {"limit", "of the worst row: what rounding explains"},
       {"scale", "of the worst row: 2-norm of the reference"},
       {"ratio", "error ÷ limit of the worst row; above 1 it diverges"},
       {"ratio_by_rank", "of the rows that each cp rank owns, as JSON"},
       {"worst_index", "global index of the worst row, as JSON"},
       {"shape", "of the rows: [B, H, S] of dq, as JSON; empty: not recorded"},
       {"rows_a_code", "consecutive rows that share a code, which is their largest"},
       {"codes", "of all rows, as JSON; see FORMAT.md"},
       {"quantisation", "by how much rounding to FP8 alone moves it; NULL without FP8"}});
  return kColumns;
}

std::unique_ptr<TableRows> openDiffs(const QueriedTrace& traced, std::span<const QueryCondition>) {
  return std::make_unique<RecordRows<DiffRecord>>(traced.trace().diffs(), diffColumns());
}

}  // namespace

const Table kDiffsTable = {"diffs", "one tensor against unsharded attention (train --verify)",
                           diffColumns, openDiffs};

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/tables/table.h"

namespace ringscope::traces {
namespace {

const std::vector<Column>& tensorColumns() {
  static const auto kColumns = columnsFor<TensorRecord>(
      {{"id", "unique in the recording"},
       {"tensor", "what it is"},
       {"name", "of a buffer, a parameter or another"},
       {"train_step", "training step, from 0"},
       {"layer", "decoder layer; NULL outside the layers"},
       {"direction", "of the pass through the layers"},
       {"stage", "ring step; NULL outside attention"},
       {"microbatch", "of the training step"},
       {"pass", "which pass of the layer computed it"},
       {"rank", "who has it"},
       {"source_rank", "whose KV block it is, or was computed from"},
       {"piece", "of the stage's work on that block"},
       {"dtype", "type of its elements"},
       {"shape", "extents, as JSON"},
       {"hash_algorithm", "by which its hash was computed"},
       {"hash", "of its bytes, as a signed number: equal on equal tensors"},
       {"min", "smallest finite element"},
       {"max", "largest finite element"},
       {"mean", "of the finite elements"},
       {"abs_max", "largest magnitude of a finite element"},
       {"nan", "how many elements are NaN"},
       {"inf", "how many are infinite"},
       {"has_values", "1 where the values were kept"}});
  return kColumns;
}

std::unique_ptr<TableRows> openTensors(const QueriedTrace& traced,
                                       std::span<const QueryCondition>) {
  return std::make_unique<RecordRows<TensorRecord>>(traced.trace().tensors(), tensorColumns());
}

}  // namespace

const Table kTensorsTable = {"tensors", "a recorded tensor: its key and statistics, not its values",
                             tensorColumns, openTensors};

}  // namespace ringscope::traces

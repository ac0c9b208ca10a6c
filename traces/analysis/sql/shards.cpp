// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "traces/exchange/tables/table.h"

namespace ringscope::traces {
namespace {

const std::vector<Column>& shardColumns() {
  static const auto kColumns = columnsFor<ShardRecord>(
      {{"buffer", "its name"},
       {"train_step", "training step, from 0"},
       {"rank", "who has the part"},
       {"sharded",
        "0 where the rank made the buffer by itself; in recordings of PyTorch jobs also where no "
        "cut was recorded"},
       {"seq_dim", "the dimension that was cut"},
       {"full_shape", "of the whole buffer, as JSON; empty: there was none"},
       {"local_shape", "of the rank's part, as JSON"},
       {"global_from_local", "runs of global indices in local order, as JSON; empty: unknown"},
       {"microbatch", "of the training step; NULL: the shard holds for all microbatches"}});
  return kColumns;
}

std::unique_ptr<TableRows> openShards(const QueriedTrace& traced, std::span<const QueryCondition>) {
  const Trace& trace = traced.trace();
  const auto& all = traced.once<std::vector<ShardRecord>>("shards", [&trace] {
    std::vector<ShardRecord> shards = trace.shards();
    shards.insert(shards.end(), trace.microbatchShards().begin(), trace.microbatchShards().end());
    return shards;
  });
  return std::make_unique<RecordRows<ShardRecord>>(all, shardColumns());
}

}  // namespace

const Table kShardsTable = {"shards", "how one rank's part of a buffer was cut", shardColumns,
                            openShards};

}  // namespace ringscope::traces

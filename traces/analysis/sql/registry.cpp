// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/tables/table.h"

namespace ringscope::traces {

std::span<const Table> tables() {
  static const Table kTables[] = {kEventsTable, kHopsTable,  kTensorsTable,  kMemoryTable,
                                  kShardsTable, kDiffsTable, kFindingsTable, kTokensTable};
  return kTables;
}

}  // namespace ringscope::traces

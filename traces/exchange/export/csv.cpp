// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/csv.h"

#include <ostream>

#include "traces/exchange/export/format.h"
#include "traces/exchange/tables/cell_text.h"
#include "traces/exchange/tables/table.h"

namespace ringscope::traces {

Exported writeCsv(const Trace& trace, std::ostream& out) {
  const auto& columns = kEventsTable.columns();
  for (std::size_t i = 0; i < columns.size(); ++i)
    out << (i > 0 ? "," : "") << csvField(columns[i].name);
  out << "\r\n";
  const QueriedTrace whole(trace, std::chrono::steady_clock::time_point::max());
  const auto rows = kEventsTable.open(whole, {});
  std::int64_t events = 0;
  for (; rows->next(); ++events) {
    for (std::size_t i = 0; i < columns.size(); ++i)
      out << (i > 0 ? "," : "") << csvField(asText(rows->cell(i), ""));
    out << "\r\n";
  }
  return {{{"events", events}}, {}};
}

}  // namespace ringscope::traces

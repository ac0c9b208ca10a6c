// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/exchange/tables/table.h"

namespace ringscope::traces {

template <>
struct Fields<Finding> {
  static void visit(auto&& field, auto& f) {
    field("rule", f.rule);
    field("severity", f.severity);
    field("confidence", f.confidence);
    field("title", f.title);
    field("place", f.place);
    field("rank", f.rank);
    field("group", f.group);
    field("buffer", f.buffer);
    field("evidence", f.evidence);
    field("remedy", f.remedy);
  }
};

namespace {

const std::vector<Column>& findingColumns() {
  static const auto kColumns =
      columnsFor<Finding>({{"rule", "id of the mistake; see ringscope mistakes"},
                           {"severity", "an error makes numbers wrong, a warning may"},
                           {"confidence", "how sure the doctor is"},
                           {"title", "in a few words"},
                           {"train_step", "training step, from 0"},
                           {"layer", "decoder layer; NULL outside the layers"},
                           {"direction", "of the pass through the layers"},
                           {"stage", "ring step; NULL outside attention"},
                           {"rank", "whose mistake it is; NULL: no one's in particular"},
                           {"group", "who share that rank's sequence, as JSON"},
                           {"buffer", "that it concerns"},
                           {"evidence", "in numbers"},
                           {"remedy", "what to change"}});
  return kColumns;
}

std::unique_ptr<TableRows> openFindings(const QueriedTrace& traced,
                                        std::span<const QueryCondition>) {
  const auto& findings = traced.once<std::vector<Finding>>(
      "findings", [&] { return diagnose(traced.trace()).findings(); });
  return std::make_unique<RecordRows<Finding>>(findings, findingColumns());
}

}  // namespace

const Table kFindingsTable = {"findings", "what the doctor found; reads the whole recording",
                              findingColumns, openFindings};

}  // namespace ringscope::traces

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/diff/diff_scene.h"

#include <algorithm>

#include "traces/analysis/diff/summary.h"
#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/groups.h"

namespace ringscope::viz {

using traces::DiffRecord;

namespace {

std::string cellWords(const DiffRecord& diff) {
  return (traces::diverges(diff) ? "▲ " : "") + traces::describeMultiple(diff.ratio);
}

DiffCell cellFor(const DiffRecord& diff, const Cursor& cursor) {
  DiffCell cell{cellWords(diff), traces::diverges(diff), false, diff.tensor, diff.place};
  cell.place.stage = RingStep::of(0);
  cell.chosen =
      diff.isolated && diff.tensor == cursor.tensor && diff.place.layer == cursor.place.layer;
  return cell;
}

DiffTable tableOf(DiffTable table, bool isolated, const std::vector<const DiffRecord*>& step,
                  const Cursor& cursor) {
  int layers = 0;
  for (const DiffRecord* diff : step) layers = std::max(layers, diff->place.layer.value() + 1);
  table.layers.assign(static_cast<std::size_t>(layers), {});
  for (auto& row : table.layers) row.resize(table.tensors.size());
  for (const DiffRecord* diff : step) {
    const auto column = std::ranges::find(table.tensors, diff->tensor);
    if (diff->isolated != isolated || diff->place.layer.isNone() || column == table.tensors.end())
      continue;
    table.layers[diff->place.layer.index()]
                [static_cast<std::size_t>(column - table.tensors.begin())] = cellFor(*diff, cursor);
  }
  return table;
}

/// A table has a cell for it.
bool isIn(const std::vector<DiffTable>& tables, const DiffRecord& diff) {
  const DiffTable& table = diff.isolated ? tables.front() : tables.back();
  return diff.place.layer.exists() &&
         std::ranges::find(table.tensors, diff.tensor) != table.tensors.end();
}

std::vector<DiffRow> restOf(std::vector<const DiffRecord*> step,
                            const std::vector<DiffTable>& tables) {
  std::erase_if(step, [&](const DiffRecord* diff) { return isIn(tables, *diff); });
  std::stable_sort(step.begin(), step.end(), [](const DiffRecord* a, const DiffRecord* b) {
    return traces::isWorse(*a, *b);
  });
  std::vector<DiffRow> rows;
  rows.reserve(step.size());
  for (const DiffRecord* diff : step)
    rows.push_back(
        {diff->tensor, cellWords(*diff), diff->error, diff->limit, traces::diverges(*diff)});
  return rows;
}

}  // namespace

DiffScene makeDiffScene(const traces::Trace& trace, const Cursor& cursor, ErrorUnit unit,
                        bool live) {
  DiffScene scene;
  scene.unit = unit;
  std::vector<const DiffRecord*> step;
  for (const DiffRecord& diff : trace.diffs())
    if (diff.place.train_step == cursor.place.train_step) step.push_back(&diff);
  if (step.empty()) {
    scene.note = live ? "This step has not been compared yet."
                      : "Not recorded; " + traces::verdictAdvice(trace, "would show it") + ".";
    return scene;
  }
  scene.tables = {
      tableOf({"Isolated",
               "each layer's own q, k, v, dout through unsharded attention in fp64: where an error "
               "is born",
               {"out", "lse", "dv", "dk", "dq"},
               {}},
              true, step, cursor),
      tableOf({"End to end",
               "the whole step without sharding, from the same weights: what reaches it",
               {"q", "k", "v", "out", "lse", "dout", "dv", "dk", "dq"},
               {}},
              false, step, cursor)};
  for (const DiffRecord* diff : step)
    if (diff->quantisation && cellFor(*diff, cursor).chosen)
      scene.quantisation = traces::describeQuantisation(*diff->quantisation);
  scene.rest = restOf(std::move(step), scene.tables);
  scene.map_title = cursor.tensor + " of layer " + toString(cursor.place.layer) + ", isolated";
  if (const auto groups = listGroups(trace).size(); groups > 1)
    scene.map_title += ", worst of all " + std::to_string(groups) + " groups";
  scene.map = makeErrorMap(trace, cursor, unit);
  return scene;
}

const char* verbFor(std::ptrdiff_t count) {
  return count == 1 ? "diverges" : "diverge";
}

std::string restVerdict(const std::vector<DiffRow>& rows) {
  const auto wrong = std::ranges::count_if(rows, &DiffRow::wrong);
  const std::string all = std::to_string(rows.size());
  return (wrong > 0 ? "▲ " + std::to_string(wrong) + " of " + all + " " + verbFor(wrong)
                    : "✓ none of " + all + " diverges") +
         "; worst first";
}

}  // namespace ringscope::viz

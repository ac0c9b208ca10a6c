// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/tensor/tensor_scene.h"

#include <algorithm>
#include <cctype>

#include "traces/format/core/prose.h"
#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/trace.h"

namespace ringscope::viz {

using traces::TensorRecord;

namespace {

constexpr std::size_t kBins = 80;

bool belongs(const TensorRecord& tensor, const Place& place) {
  if (tensor.place.train_step != place.train_step) return false;
  if (tensor.place.layer.isNone()) return true;
  return tensor.place.layer == place.layer && tensor.place.direction == place.direction &&
         (tensor.place.stage.isNone() || tensor.place.stage == place.stage);
}

bool contains(const std::string& name, const std::string& part) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  return std::search(name.begin(), name.end(), part.begin(), part.end(), same) != name.end() ||
         part.empty();
}

TensorRow liveRow(const LiveTensor& live, const Place& place) {
  TensorRow row;
  row.record.tensor = traces::TensorName::of(live.name);
  row.record.place = place;
  row.record.place.layer = live.layer;
  row.record.place.stage = RingStep::none();
  row.record.rank = live.rank;
  row.record.shape = live.shape;
  row.type = live.type;
  row.only_live = true;
  return row;
}

TensorSlice sliceOf(const traces::Trace& trace, const TensorRow& row, const TensorRequest& request,
                    const std::vector<std::int64_t>& lead) {
  if (const LiveRead* read = request.read) {
    const auto dims = std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(read->shape.size()));
    return tensorSlice({read->shape.end() - dims, read->shape.end()}, read->values, {});
  }
  const auto values = row.only_live ? std::nullopt : trace.values(row.record);
  return values ? tensorSlice(row.record.shape, *values, lead) : TensorSlice();
}

std::string whyEmpty(const traces::Trace& trace, const TensorRow& row,
                     const TensorRequest& request) {
  if (request.read && !request.read->failure.empty()) return "▲ " + request.read->failure;
  if (row.only_live) return "Not recorded here. Read live reads it from the paused run.";
  const auto& stats = row.record.stats;
  std::string known = row.range();
  if (known.find("…") != std::string::npos)
    known += ", mean " + traces::describeSignificant(stats.mean, 4);
  if (stats.nan + stats.inf > 0)
    known += ", ▲ " + std::to_string(stats.nan) + " NaN, " + std::to_string(stats.inf) + " Inf";
  return "Only hash and statistics are recorded: " + known + ". " +
         traces::valuesAdvice(trace, row.record.place.train_step, "would show the values") +
         (request.may_read_live ? "; or pause the run and press Read live." : ".");
}

}  // namespace

std::string TensorRow::name() const {
  std::string text = record.tensor.text();
  if (record.source_rank.exists()) text += " of block " + toString(record.source_rank);
  if (record.piece.exists()) text += ", piece " + toString(record.piece);
  if (record.microbatch > 0) text += ", microbatch " + std::to_string(record.microbatch);
  if (record.pass == traces::Pass::kRecompute) text += ", recomputed";
  return text;
}

std::string TensorRow::range() const {
  std::int64_t elements = 1;
  for (const std::int64_t extent : record.shape) elements *= extent;
  const auto& stats = record.stats;
  if (elements <= stats.nan + stats.inf) return "nothing finite";
  return traces::describeSignificant(stats.min, 3) + " … " +
         traces::describeSignificant(stats.max, 3);
}

bool TensorRow::looksLike(const TensorRow& other) const {
  const traces::TensorKey &key = record, &other_key = other.record;
  return key == other_key && record.id == other.record.id && record.hash == other.record.hash &&
         record.shape == other.record.shape && record.has_values == other.record.has_values &&
         type == other.type && only_live == other.only_live;
}

std::vector<TensorRow> makeTensorRows(const traces::Trace& trace, const Cursor& cursor,
                                      const std::string& filter,
                                      const std::vector<LiveTensor>& live) {
  std::vector<TensorRow> rows;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.rank == cursor.rank && belongs(tensor, cursor.place) &&
        contains(TensorRow{tensor, {}, false}.name(), filter))
      rows.push_back({tensor, traces::name(tensor.dtype), false});
  // Tensors of the layer come first: a ring step works on them.
  std::ranges::stable_sort(rows, [](const TensorRow& a, const TensorRow& b) {
    return a.record.place.layer > b.record.place.layer;
  });
  for (const LiveTensor& t : live) {
    const bool known = std::ranges::any_of(
        rows, [&](const TensorRow& row) { return row.record.tensor.text() == t.name; });
    if (t.rank == cursor.rank && (t.layer.isNone() || t.layer == cursor.place.layer) && !known &&
        contains(t.name, filter))
      rows.push_back(liveRow(t, cursor.place));
  }
  return rows;
}

TensorScene makeTensorScene(const traces::Trace& trace, const TensorRow& row,
                            const TensorRequest& request) {
  TensorScene scene;
  const auto& shape = row.record.shape;
  scene.name = row.name();
  scene.rank = row.record.rank;
  scene.live = request.read != nullptr;
  scene.where =
      request.read ? "● live, " + request.read->place : traces::describe(row.record.place);
  scene.lead = request.lead;
  scene.lead.resize(shape.size() > 2 ? shape.size() - 2 : 0, 0);
  for (std::size_t d = 0; d < scene.lead.size(); ++d)
    scene.lead[d] =
        std::clamp<std::int64_t>(scene.lead[d], 0, std::max<std::int64_t>(0, shape[d] - 1));
  scene.slice = sliceOf(trace, row, request, scene.lead);
  if (scene.slice.values.empty()) {
    scene.note = whyEmpty(trace, row, request);
    return scene;
  }
  scene.histogram = valueHistogram(scene.slice.values, kBins);
  scene.range = autoFit(scene.slice.values);
  return scene;
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/models/tensor_list_model.h"

#include <QFont>

#include "viz/scene/tensor_slice.h"
#include "viz/style/theme.h"

namespace ringscope::viz {
namespace {

bool belongs(const traces::TensorRecord& tensor, const traces::Place& place) {
  if (tensor.place.train_step != place.train_step) return false;
  if (tensor.place.layer < 0) return true;
  return tensor.place.layer == place.layer && tensor.place.direction == place.direction &&
         (tensor.place.stage < 0 || tensor.place.stage == place.stage);
}

QString marks(const traces::TensorStats& stats) {
  QStringList words;
  if (stats.nan) words << QString("%1 NaN").arg(stats.nan);
  if (stats.inf) words << QString("%1 Inf").arg(stats.inf);
  return words.isEmpty() ? "" : "▲ " + words.join(", ");
}

}  // namespace

void TensorListModel::show(const traces::Trace& trace, const traces::Place& place, int rank,
                           const QString& filter, const std::vector<LiveTensor>& live) {
  std::vector<traces::TensorRecord> rows;
  const auto passes = [&](const QString& name) {
    return name.contains(filter, Qt::CaseInsensitive);
  };
  for (const auto& tensor : trace.tensors())
    if (tensor.rank == rank && belongs(tensor, place) &&
        passes(QString::fromStdString(tensor.name)))
      rows.push_back(tensor);
  // Those of the layer first: they are what a ring step is about.
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.place.layer > b.place.layer; });
  beginResetModel();
  rows_ = std::move(rows);
  types_.clear();
  for (const auto& tensor : rows_) types_.emplace_back(traces::name(tensor.dtype));
  recorded_ = rowCount();
  for (const LiveTensor& t : live)
    if (t.rank == rank && (t.layer < 0 || t.layer == place.layer) && passes(t.name) &&
        rowOf(t.name) < 0)
      addLive(t, place);
  endResetModel();
}

void TensorListModel::addLive(const LiveTensor& live, const traces::Place& place) {
  traces::TensorRecord row;
  row.name = live.name.toStdString();
  row.place = place;
  row.place.layer = static_cast<std::int16_t>(live.layer);
  row.place.stage = -1;
  row.rank = static_cast<std::int16_t>(live.rank);
  row.shape = live.shape;
  rows_.push_back(std::move(row));
  types_.push_back(live.type);
}

const traces::TensorRecord* TensorListModel::at(int row) const {
  return row >= 0 && row < rowCount() ? &rows_[static_cast<std::size_t>(row)] : nullptr;
}

int TensorListModel::rowOf(const QString& name) const {
  const auto found = std::ranges::find(rows_, name.toStdString(), &traces::TensorRecord::name);
  return found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
}

bool TensorListModel::hasMarks() const {
  return std::ranges::any_of(rows_, [](const auto& t) { return t.stats.nan + t.stats.inf > 0; });
}

int TensorListModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int TensorListModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant TensorListModel::data(const QModelIndex& index, int role) const {
  const auto* tensor = index.isValid() ? at(index.row()) : nullptr;
  if (!tensor) return {};
  if (role == Qt::FontRole && index.column() != kName) return monoFont(11);
  if (role == Qt::ToolTipRole)
    return QString("%1\n%2\n%3")
        .arg(QString::fromStdString(tensor->name), QString::fromStdString(describe(tensor->place)),
             isOnlyLive(index.row()) ? "not recorded here; Read live reads it from the paused run"
             : tensor->has_values    ? "values recorded"
                                     : "hash and statistics only");
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case kName:  // every parameter begins with "model.", which only takes room
      return QString::fromStdString(tensor->name).replace(".model.", ".") +
             (tensor->has_values ? "" : " ·");
    case kShape:
      return QString::fromStdString(describeShape(tensor->shape));
    case kType:
      return types_[static_cast<std::size_t>(index.row())];
    case kRange:
      if (isOnlyLive(index.row())) return "in the paused run";
      return QString("%1 … %2").arg(tensor->stats.min, 0, 'g', 3).arg(tensor->stats.max, 0, 'g', 3);
    default:
      return marks(tensor->stats);
  }
}

QVariant TensorListModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static const char* const kTitles[] = {"tensor", "shape", "type", "range", "not finite"};
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section >= kColumns) return {};
  return kTitles[section];
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/tensor/tensor_list_model.h"

#include <QFont>
#include <algorithm>

#include "viz/scene/tensor_slice.h"
#include "viz/style/theme.h"

namespace ringscope::viz {
namespace {

QString marks(const traces::TensorStats& stats) {
  QStringList words;
  if (stats.nan) words << QString("%1 NaN").arg(stats.nan);
  if (stats.inf) words << QString("%1 Inf").arg(stats.inf);
  return words.isEmpty() ? "" : "▲ " + words.join(", ");
}

}  // namespace

void TensorListModel::show(std::vector<TensorRow> rows) {
  const bool same = std::ranges::equal(
      rows, rows_, [](const TensorRow& a, const TensorRow& b) { return a.looksLike(b); });
  if (same) return;
  beginResetModel();
  rows_ = std::move(rows);
  endResetModel();
}

const TensorRow* TensorListModel::at(int row) const {
  return row >= 0 && row < rowCount() ? &rows_[static_cast<std::size_t>(row)] : nullptr;
}

int TensorListModel::tensorRow(const QString& name) const {
  const std::string wanted = name.toStdString();
  auto found = std::ranges::find(rows_, wanted, &TensorRow::name);
  if (found == rows_.end())
    found = std::ranges::find(rows_, wanted,
                              [](const TensorRow& row) { return row.record.tensor.text(); });
  return found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
}

bool TensorListModel::hasMarks() const {
  return std::ranges::any_of(
      rows_, [](const auto& row) { return row.record.stats.nan + row.record.stats.inf > 0; });
}

bool TensorListModel::hasTensorsWithoutValues() const {
  return std::ranges::any_of(
      rows_, [](const auto& row) { return !row.only_live && !row.record.has_values; });
}

int TensorListModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int TensorListModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant TensorListModel::data(const QModelIndex& index, int role) const {
  const TensorRow* row = index.isValid() ? at(index.row()) : nullptr;
  if (!row) return {};
  const traces::TensorRecord* tensor = &row->record;
  if (role == Qt::FontRole && index.column() != kName) return monoFont(11);
  if (role == Qt::ToolTipRole)
    return QString("%1\n%2\n%3")
        .arg(QString::fromStdString(tensor->tensor.text()),
             QString::fromStdString(describe(tensor->place)),
             row->only_live       ? "not recorded here; Read live reads it from the paused run"
             : tensor->has_values ? "values recorded"
                                  : "hash and statistics only");
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case kName:  // every parameter begins with "model.", which only takes room
      return QString::fromStdString(row->name()).replace(".model.", ".") +
             (tensor->has_values || row->only_live ? "" : " ·");
    case kShape:
      return QString::fromStdString(describeShape(tensor->shape));
    case kType:
      return QString::fromStdString(row->type);
    case kRange:
      if (row->only_live) return "in the paused run";
      return QString::fromStdString(row->range());
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

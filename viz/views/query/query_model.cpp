// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/query/query_model.h"

#include "traces/exchange/tables/cell_text.h"

namespace ringscope::viz {
namespace {

QVariant alignmentOf(const traces::Cell& cell) {
  const bool number =
      std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
  return QVariant((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
}

}  // namespace

void QueryModel::show(QueryAnswer answer) {
  beginResetModel();
  answer_ = std::move(answer);
  endResetModel();
}

int QueryModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(answer_.rows.size());
}

int QueryModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(answer_.columns.size());
}

QVariant QueryModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const auto& row = answer_.rows[static_cast<std::size_t>(index.row())];
  const traces::Cell& cell = row[static_cast<std::size_t>(index.column())];
  if (role == Qt::DisplayRole || role == Qt::ToolTipRole)
    return QString::fromStdString(traces::asText(cell, "–"));
  if (role == Qt::TextAlignmentRole) return alignmentOf(cell);
  return {};
}

QVariant QueryModel::headerData(int section, Qt::Orientation orientation, int role) const {
  const bool known = section >= 0 && section < columnCount();
  if (orientation != Qt::Horizontal || !known) return {};
  if (role == Qt::TextAlignmentRole && rowCount() > 0)
    return alignmentOf(answer_.rows.front()[static_cast<std::size_t>(section)]);
  if (role != Qt::DisplayRole) return {};
  return QString::fromStdString(answer_.columns[static_cast<std::size_t>(section)]);
}

}  // namespace ringscope::viz

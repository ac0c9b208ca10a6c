// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractTableModel>

#include "viz/views/query/query_scene.h"

namespace ringscope::viz {

/// The rows of an answer. Numbers are right-aligned, and what is nothing is a dash.
class QueryModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  using QAbstractTableModel::QAbstractTableModel;

  void show(QueryAnswer answer);
  const QueryAnswer& answer() const { return answer_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QueryAnswer answer_;
};

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "traces/query/trace.h"

namespace ringscope::viz {

/// The recorded tensors of one rank at one place: name, shape, type, range, what is not finite.
class TensorListModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kName, kShape, kType, kRange, kMarks, kColumns };

  using QAbstractTableModel::QAbstractTableModel;

  /// Those of this training step and rank whose layer and direction are the place's, and those
  /// outside the layers; of the ring step of the place where they belong to one. `filter`: part of
  /// a name.
  void show(const traces::Trace& trace, const traces::Place& place, int rank,
            const QString& filter);
  const traces::TensorRecord* at(int row) const;
  int rowOf(const QString& name) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::vector<traces::TensorRecord> rows_;
};

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "traces/query/trace.h"
#include "viz/hub/live_read.h"

namespace ringscope::viz {

/// The tensors of one rank at one place: name, shape, type, range, what is not finite.
class TensorListModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kName, kShape, kType, kRange, kMarks, kColumns };

  using QAbstractTableModel::QAbstractTableModel;

  /// Those of this training step and rank whose layer and direction are the place's, and those
  /// outside the layers; of the ring step of the place where they belong to one. After them those
  /// of `live` that are not recorded there. `filter`: part of a name.
  void show(const traces::Trace& trace, const traces::Place& place, int rank, const QString& filter,
            const std::vector<LiveTensor>& live = {});
  /// One that is only held by the paused run has no statistics and no values.
  const traces::TensorRecord* at(int row) const;
  bool isOnlyLive(int row) const { return row >= recorded_ && row < rowCount(); }
  int rowOf(const QString& name) const;
  /// Whether a value of any of them is not finite.
  bool hasMarks() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  void addLive(const LiveTensor& live, const traces::Place& place);

  std::vector<traces::TensorRecord> rows_;
  std::vector<QString> types_;
  int recorded_ = 0;  // rows before those that are only live
};

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "viz/views/tensor/tensor_scene.h"

namespace ringscope::viz {

/// The tensors of one rank at one place: name, shape, type, range, what is not finite.
class TensorListModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kName, kShape, kType, kRange, kMarks, kColumns };

  using QAbstractTableModel::QAbstractTableModel;

  /// Nothing happens where they look like those that are shown.
  void show(std::vector<TensorRow> rows);
  /// Null outside the list.
  const TensorRow* at(int row) const;
  int tensorRow(const QString& name) const;
  /// Whether a value of any of them is not finite.
  bool hasMarks() const;
  /// Whether there are some of which only hash and statistics are recorded: a · follows their name.
  bool hasTensorsWithoutValues() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::vector<TensorRow> rows_;
};

}  // namespace ringscope::viz

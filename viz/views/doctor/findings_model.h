// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractListModel>
#include <vector>

#include "viz/views/doctor/doctor_scene.h"

namespace ringscope::viz {

/// The doctor's cards about a run, one row per card.
class FindingsModel : public QAbstractListModel {
  Q_OBJECT
 public:
  using QAbstractListModel::QAbstractListModel;

  void show(std::vector<FindingCard> cards);
  /// Null outside the list.
  const FindingCard* at(int row) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;

 private:
  std::vector<FindingCard> cards_;
};

}  // namespace ringscope::viz

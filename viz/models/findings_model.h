// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractListModel>
#include <vector>

#include "traces/doctor/diagnosis.h"

namespace ringscope::viz {

/// What the doctor says of a run: findings first, then what it could not see, then what is clear.
class FindingsModel : public QAbstractListModel {
  Q_OBJECT
 public:
  /// One line of the list.
  struct Row {
    traces::Verdict verdict = traces::Verdict::kClear;
    QString title, evidence, remedy;
    traces::Finding finding;  ///< meaningful for kFound
    QString view;             ///< where it can be seen; empty: nowhere in particular
  };

  using QAbstractListModel::QAbstractListModel;

  void show(const traces::Diagnosis& diagnosis);
  const Row* at(int row) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;

 private:
  std::vector<Row> rows_;
};

}  // namespace ringscope::viz

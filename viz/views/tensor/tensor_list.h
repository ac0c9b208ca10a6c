// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QTableView>
#include <QToolButton>

#include "viz/views/tensor/tensor_list_model.h"

namespace ringscope::viz {

/// The list of tensors of the viewed ring step and rank, with a filter by name. At the head of a
/// paused run it also has the tensors that only the run holds, and a button that reads them.
class TensorList : public QWidget {
  Q_OBJECT
 public:
  explicit TensorList(QWidget* parent);

  /// Part of the names that should be listed.
  std::string filter() const { return filter_->text().toStdString(); }
  /// Lists these, and marks the one that find() gives for a name.
  void show(std::vector<TensorRow> rows, const QString& chosen);
  /// The tensor of that name, or the first of the list where it has none of that name; null where
  /// the list is empty.
  const TensorRow* find(const QString& name) const { return model_->at(rowShownFor(name)); }
  bool isEmpty() const { return model_->rowCount() == 0; }
  std::string whyEmpty(const traces::Trace& trace) const;
  void focusFilter() { filter_->setFocus(Qt::ShortcutFocusReason); }
  void setZoom(double zoom);
  void setLiveReads(bool possible) { live_->setEnabled(possible); }

 Q_SIGNALS:
  void chosen(const QString& name);
  void filterChanged();
  void liveReadClicked();

 protected:
  void resizeEvent(QResizeEvent*) override { layOut(); }

 private:
  void makeTable();
  void layOut();
  void select(const QString& name);
  int rowShownFor(const QString& name) const;

  TensorListModel* model_;
  QLineEdit* filter_;
  QTableView* table_;
  QLabel* key_;  // what a mark after a name means
  QToolButton* live_;
  double zoom_ = 1;
};

}  // namespace ringscope::viz

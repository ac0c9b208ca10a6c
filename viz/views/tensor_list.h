// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLineEdit>
#include <QTableView>
#include <QToolButton>
#include <optional>
#include <tuple>

#include "viz/hub/hub.h"
#include "viz/models/tensor_list_model.h"

namespace ringscope::viz {

/// The tensors of the viewed ring step and rank, at the head of a paused run also those that only
/// the run has, with a filter by name and the button that reads them live.
class TensorList : public QWidget {
  Q_OBJECT
 public:
  explicit TensorList(QWidget* parent);

  /// Lists those of the hub's place; made again only where place, rank, trace, filter or what the
  /// paused run holds changed. Returns whether it was.
  bool refresh(const Hub& hub);
  /// The trace has changed: the next refresh() makes the list again.
  void forget() { listed_ = {}; }
  /// The tensor of that name, or the first of the list where it has none of that name; null where
  /// the list is empty.
  const traces::TensorRecord* find(const QString& name) const;
  /// Whether what find() gives is not recorded there, but held by the paused run.
  bool isOnlyLive(const QString& name) const;
  bool isEmpty() const { return model_->rowCount() == 0; }
  QString whyEmpty() const;
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
  QToolButton* live_;
  double zoom_ = 1;
  using Listed = std::tuple<int, int, std::size_t>;  // moment, rank, how many the run holds
  std::optional<Listed> listed_;
};

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QHBoxLayout>
#include <QPushButton>
#include <QToolButton>

#include "viz/history/history.h"
#include "viz/kit/elided_label.h"

namespace ringscope::viz {

/// The buttons below the history. They act on the selected recordings, and ask before they delete
/// one.
class HistoryActions : public QWidget {
  Q_OBJECT
 public:
  explicit HistoryActions(QWidget* parent);

  /// Offers what can be done with these recordings. `shown` is the one on show, or empty.
  void setSelected(const QList<HistoryEntry>& selected, const QString& shown);
  void open();
  void compare();
  void pin();
  void askToRemove();

 Q_SIGNALS:
  void openRequested(const QString& path);
  /// Emitted with two recordings to compare. `first` is empty for the one on show.
  void compareRequested(const QString& first, const QString& second);
  void pinRequested(const HistoryEntry& entry);
  void renameRequested();
  void folderRequested(const QString& path);
  /// Emitted when the user has confirmed that these are deleted or taken off the list.
  void removeConfirmed(const QList<HistoryEntry>& entries);
  /// The user has answered the question about a removal.
  void answered();

 private:
  void makeButtons();
  void makeQuestion();
  void answer(bool removes);

  QList<HistoryEntry> selected_;
  QWidget *actions_, *question_;
  QPushButton* open_;
  QToolButton *compare_, *pin_, *rename_, *folder_, *remove_, *yes_, *no_;
  ElidedLabel* asked_;
};

}  // namespace ringscope::viz

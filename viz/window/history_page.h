// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QListView>

#include "viz/kit/elided_label.h"
#include "viz/kit/entry_field.h"
#include "viz/style/theme.h"
#include "viz/window/history_actions.h"
#include "viz/window/history_delegate.h"

namespace ringscope::viz {

/// The page of all runs and recordings: a search field, the list, and what can be done with the
/// selected rows. It takes the place of the views while it is open.
class HistoryPage : public QWidget {
  Q_OBJECT
 public:
  explicit HistoryPage(QWidget* parent);

  /// Shows the rows of a model. The model must outlive the page.
  void setModel(HistoryModel& model);
  /// Sets the recording on show, with which a single row is compared. May be empty.
  void setShown(const QString& path);
  /// Selects the first row, and gives the focus to the search field.
  void begin();
  void setTheme(const Theme& theme);
  /// Shows a sentence about the last action below the list. May be empty.
  void tell(const QString& sentence);

 Q_SIGNALS:
  void openRequested(const QString& path);
  /// Emitted with two recordings to compare. `first` is empty for the one on show.
  void compareRequested(const QString& first, const QString& second);
  void pinRequested(const HistoryEntry& entry);
  void folderRequested(const QString& path);
  /// Emitted when the user has confirmed that these are deleted or taken off the list.
  void removeConfirmed(const QList<HistoryEntry>& entries);
  void closeRequested();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* makeHead();
  void connectActions();
  QList<HistoryEntry> selected() const;
  void refresh();
  void select(const QModelIndex& index);

  HistoryModel* model_ = nullptr;
  HistoryDelegate* delegate_ = nullptr;
  QListView* list_;
  EntryField* search_;
  QLabel *total_, *empty_;
  ElidedLabel* told_;
  HistoryActions* actions_;
  QString shown_;
};

}  // namespace ringscope::viz

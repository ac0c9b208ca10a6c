// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAction>
#include <QFrame>
#include <QPointer>
#include <QTableWidget>

#include "viz/kit/entry_field.h"

namespace ringscope::viz {

/// Returns the key of a command as words; empty when the command has none. A key that the window
/// handles without a shortcut is the action's data.
QString commandKey(const QAction& action);

/// A list of all commands of the window, which are its actions with a text. Typing keeps the
/// commands that contain every typed word, Enter runs the chosen command, and Esc closes the list.
class CommandPalette : public QFrame {
  Q_OBJECT
 public:
  explicit CommandPalette(QWidget& window);

  /// Shows all commands over the window.
  void open();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void close();
  void filter();
  void choose(int row);
  void run(int row);
  void place();

  QWidget& window_;
  EntryField* field_;
  QTableWidget* list_;
  QList<QAction*> listed_;            // by row
  QPointer<QWidget> focused_before_;  // the widget that had the focus when the palette was opened
};

}  // namespace ringscope::viz

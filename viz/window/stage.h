// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QKeySequence>
#include <QStackedWidget>

#include "viz/views/base/view.h"

namespace ringscope::viz {

/// All views of one session, one of them on show.
class Stage : public QStackedWidget {
  Q_OBJECT
 public:
  explicit Stage(Viewing& viewing, QWidget* parent = nullptr);

  const QList<View*>& views() const { return views_; }
  /// The name of the view on show.
  QString shown() const;
  /// Throws usageError that lists the names.
  void show(const QString& name);

 private:
  QList<View*> views_;
};

/// Returns the key of the view with this index in the registry: Ctrl with 1 to 9 and 0, and
/// Ctrl+Shift with 1 to 9 for the views after these. Empty for later views.
QKeySequence viewKey(std::size_t index);

}  // namespace ringscope::viz

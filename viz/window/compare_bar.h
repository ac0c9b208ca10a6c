// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QToolButton>
#include <QWidget>

#include "viz/session/viewing.h"

namespace ringscope::viz {

/// Says over two stages what differs between them, and what came of it.
class CompareBar : public QWidget {
  Q_OBJECT
 public:
  CompareBar(const Viewing& before, const Viewing& after, QWidget* parent = nullptr);
  /// Before and after a what-if.
  void setChange(const QString& change);
  /// A recording, at the right, and a second one; `settings` differ.
  void setPair(const QString& settings);

 Q_SIGNALS:
  void closed();

 private:
  void refresh();

  QString left_ = "BEFORE", right_ = "AFTER";
  const Viewing &before_, &after_;
  QLabel *change_, *before_text_, *after_text_;
};

}  // namespace ringscope::viz

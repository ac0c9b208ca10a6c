// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

#include "viz/kit/elided_label.h"

namespace ringscope::viz {

/// A notice over the stage that stays until somebody closes it.
class NoticeBar : public QWidget {
  Q_OBJECT
 public:
  explicit NoticeBar(QWidget* parent = nullptr);

  /// Shows what happened, and below it why and what to do.
  void show(const QString& what, const QString& why);

 private:
  ElidedLabel *what_, *why_;
};

}  // namespace ringscope::viz

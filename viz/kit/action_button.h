// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QToolButton>

namespace ringscope::viz {

/// Makes a button that is wide enough for its words, with `beside` pixels beside them.
inline QToolButton* makeAction(const QString& words, const QString& tip, QWidget* parent,
                               int beside = 28) {
  auto* button = new QToolButton(parent);
  button->setText(words);
  button->setToolTip(tip);
  button->setMinimumWidth(button->fontMetrics().horizontalAdvance(words) + beside);
  return button;
}

}  // namespace ringscope::viz

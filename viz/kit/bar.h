// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QHBoxLayout>
#include <QVBoxLayout>

#include "viz/kit/elided_label.h"

namespace ringscope::viz {

/// The layout at the start of a bar above the stage: a row with the title, to which buttons are
/// added, and room below.
struct BarLayout {
  explicit BarLayout(QWidget* bar)
      : column(new QVBoxLayout(bar)), head(new QHBoxLayout), title(new ElidedLabel(bar)) {
    bar->setObjectName("panel");
    bar->setAttribute(Qt::WA_StyledBackground);
    column->setContentsMargins(24, 6, 16, 8);
    column->setSpacing(4);
    title->setObjectName("title");
    head->addWidget(title, 1);
    column->addLayout(head);
  }

  QVBoxLayout* column;
  QHBoxLayout* head;
  ElidedLabel* title;
};

}  // namespace ringscope::viz

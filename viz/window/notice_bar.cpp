// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/notice_bar.h"

#include <QToolButton>

#include "viz/kit/bar.h"

namespace ringscope::viz {

NoticeBar::NoticeBar(QWidget* parent) : QWidget(parent) {
  constexpr int kMostLines = 3;
  const BarLayout bar(this);
  what_ = bar.title;
  why_ = new ElidedLabel(this);
  why_->setObjectName("dim");
  why_->setMostLines(kMostLines);
  auto* close = new QToolButton(this);
  close->setText("Close notice");
  close->setMinimumWidth(104);
  bar.head->addWidget(close);
  bar.column->addWidget(why_);
  connect(close, &QToolButton::clicked, this, &QWidget::hide);
  hide();
}

void NoticeBar::show(const QString& what, const QString& why) {
  what_->setText(what);
  why_->setText(why);
  setAccessibleName(what);
  setVisible(true);
}

}  // namespace ringscope::viz

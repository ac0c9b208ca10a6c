// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/compare_bar.h"

#include <QHBoxLayout>

#include "viz/scene/run_summary.h"

namespace ringscope::viz {

CompareBar::CompareBar(Hub& before, Hub& after, QWidget* parent)
    : QWidget(parent), before_(before), after_(after) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(24, 6, 16, 8);
  column->setSpacing(4);
  auto* head = new QHBoxLayout;
  change_ = new QLabel(this);
  change_->setObjectName("title");
  auto* close = new QToolButton(this);
  close->setText("Close comparison");
  close->setMinimumWidth(124);
  close->setToolTip("Show the new run alone (Esc)");
  head->addWidget(change_, 1);
  head->addWidget(close);
  column->addLayout(head);
  auto* texts = new QHBoxLayout;
  before_text_ = new QLabel(this);
  after_text_ = new QLabel(this);
  for (QLabel* label : {before_text_, after_text_}) {
    label->setObjectName("dim");
    label->setWordWrap(true);
    label->setMinimumHeight(34);
    texts->addWidget(label, 1);
  }
  column->addLayout(texts);
  connect(close, &QToolButton::clicked, this, &CompareBar::closed);
  for (Hub* hub : {&before_, &after_}) {
    connect(hub, &Hub::traceChanged, this, &CompareBar::refresh);
    connect(hub, &Hub::stateChanged, this, &CompareBar::refresh);
  }
}

void CompareBar::setChange(const QString& change) {
  change_->setText("What if · " + (change.isEmpty() ? "the same again" : change));
  refresh();
}

void CompareBar::refresh() {
  if (!isVisible()) return;
  auto words = [](const Hub& hub) {
    return QString::fromStdString(describe(runSummary(hub.trace(), hub.place().train_step)));
  };
  before_text_->setText("BEFORE · " + words(before_));
  after_text_->setText(after_.live() ? "AFTER · running …" : "AFTER · " + words(after_));
}

}  // namespace ringscope::viz

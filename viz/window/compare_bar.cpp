// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/compare_bar.h"

#include "viz/scene/run_summary.h"
#include "viz/window/bar.h"

namespace ringscope::viz {

CompareBar::CompareBar(const Viewing& before, const Viewing& after, QWidget* parent)
    : QWidget(parent), before_(before), after_(after) {
  const BarLayout bar(this);
  change_ = bar.title;
  auto* close = new QToolButton(this);
  close->setText("Close comparison");
  close->setMinimumWidth(124);
  close->setToolTip("Show the new run alone (Esc)");
  bar.head->addWidget(close);
  auto* texts = new QHBoxLayout;
  before_text_ = new QLabel(this);
  after_text_ = new QLabel(this);
  for (QLabel* label : {before_text_, after_text_}) {
    label->setObjectName("dim");
    label->setWordWrap(true);
    label->setMinimumHeight(34);
    texts->addWidget(label, 1);
  }
  bar.column->addLayout(texts);
  connect(close, &QToolButton::clicked, this, &CompareBar::closed);
  for (const Viewing* viewing : {&before_, &after_}) {
    connect(&viewing->session, &Session::dataChanged, this, &CompareBar::refresh);
    connect(&viewing->session, &Session::stateChanged, this, &CompareBar::refresh);
  }
}

void CompareBar::setChange(const QString& change) {
  change_->setText("What if · " + (change.isEmpty() ? "the same again" : change));
  left_ = "BEFORE";
  right_ = "AFTER";
  refresh();
}

void CompareBar::setPair(const QString& settings) {
  change_->setText("Beside each other, A against B · " + settings);
  left_ = "B";
  right_ = "A";
  refresh();
}

void CompareBar::refresh() {
  if (!isVisible()) return;
  auto words = [](const Viewing& viewing) {
    return QString::fromStdString(
        describe(runSummary(viewing.session.trace(), viewing.navigator.place().train_step)));
  };
  before_text_->setText(left_ + " · " + words(before_));
  after_text_->setText(right_ + " · " + (after_.session.live() ? "running …" : words(after_)));
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/compare_bar.h"

#include "viz/kit/bar.h"
#include "viz/views/compare/run_summary_scene.h"

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
  left_text_ = new QLabel(this);
  right_text_ = new QLabel(this);
  for (QLabel* label : {left_text_, right_text_}) {
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
  name_ = "AFTER";
  other_name_ = "BEFORE";
  refresh();
}

void CompareBar::setPair(const QString& settings) {
  change_->setText("Beside each other, A against B · " + settings);
  name_ = "A";
  other_name_ = "B";
  refresh();
}

void CompareBar::setOverCards(bool over_cards) {
  over_cards_ = over_cards;
  refresh();
}

void CompareBar::refresh() {
  if (!isVisible()) return;
  auto words = [](const Viewing& viewing) {
    return QString::fromStdString(
        describe(runSummary(viewing.session.trace(), viewing.navigator.cursor().place.train_step)));
  };
  const QString other = other_name_ + " · " + words(before_);
  const QString run = name_ + " · " + (after_.session.live() ? "running …" : words(after_));
  left_text_->setText(over_cards_ ? run : other);
  right_text_->setText(over_cards_ ? other : run);
}

}  // namespace ringscope::viz

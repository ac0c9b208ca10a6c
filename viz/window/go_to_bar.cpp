// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/go_to_bar.h"

#include <QStyle>
#include <QToolButton>

#include "viz/kit/bar.h"

namespace ringscope::viz {

GoToBar::GoToBar(const Viewing& viewing, QWidget* parent) : QWidget(parent), viewing_(viewing) {
  constexpr int kFieldWidth = 320, kMostLines = 2;
  const BarLayout bar(this);
  bar.title->setText("Go to");
  setAccessibleName("Go to a place");
  field_ = new EntryField(this);
  field_->setAccessibleName("Place to go to");
  field_->setPlaceholderText("token 137, layer 1 backward …");
  field_->setMinimumWidth(kFieldWidth);
  auto* close = new QToolButton(this);
  close->setText("Close");
  close->setMinimumWidth(60);
  close->setToolTip("Close without going anywhere (Esc)");
  bar.head->addWidget(field_);
  bar.head->addWidget(close);
  answer_ = new ElidedLabel(this);
  answer_->setMostLines(kMostLines);
  bar.column->addWidget(answer_);
  connect(field_, &QLineEdit::textChanged, this, [this] { answer(false); });
  connect(field_, &EntryField::entered, this, [this] { answer(true); });
  const auto leave = [this] {
    hide();
    Q_EMIT left();
  };
  connect(field_, &EntryField::left, this, leave);
  connect(close, &QToolButton::clicked, this, leave);
  hide();
}

void GoToBar::open() {
  show();
  field_->setFocus(Qt::ShortcutFocusReason);
  field_->selectAll();
  answer(false);
}

GoToTarget GoToBar::target() const {
  return findTarget(viewing_.session.trace(), viewing_.navigator.cursor(),
                    parsePlaceWords(field_->text().toStdString()));
}

void GoToBar::answer(bool entered) {
  const bool is_empty = field_->text().trimmed().isEmpty();
  const GoToTarget found = target();
  if (entered && found.found) {
    hide();
    return Q_EMIT chosen(found);
  }
  answer_->setText(is_empty && !entered ? QString("accepted are %1").arg(kAcceptedPlaces)
                                        : (found.found ? "Enter goes to " : "") +
                                              QString::fromStdString(found.sentence));
  // A place that is only half typed is no mistake yet.
  answer_->setObjectName(entered ? "wrong" : "dim");
  answer_->style()->unpolish(answer_);
  answer_->style()->polish(answer_);
}

}  // namespace ringscope::viz

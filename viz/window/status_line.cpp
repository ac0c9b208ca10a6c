// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/status_line.h"

#include <QHBoxLayout>

namespace ringscope::viz {

StatusLine::StatusLine(QWidget* parent)
    : QWidget(parent), run_(new ElidedLabel(this)), said_(new ElidedLabel(this)) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(20, 4, 20, 4);
  for (ElidedLabel* label : {run_, said_}) label->setObjectName("dim");
  row->addWidget(run_, 1);
  row->addWidget(said_);
}

void StatusLine::setFile(const QString& words) {
  file_ = words;
  refresh();
}

void StatusLine::tell(const QString& sentence) {
  told_ = sentence;
  refresh();
}

void StatusLine::setProblem(const QString& problem) {
  problem_ = problem;
  refresh();
}

void StatusLine::clear() {
  told_.clear();
  setProblem({});
}

void StatusLine::setWarning(const QColor& color) {
  warning_ = color;
  refresh();
}

void StatusLine::refresh() {
  said_->setText(!told_.isEmpty() ? told_ : !problem_.isEmpty() ? "▲ " + problem_ : file_);
  const bool wrong = told_.isEmpty() ? !problem_.isEmpty() : told_.startsWith("▲");
  const QString color = wrong ? QString("color: %1").arg(warning_.name()) : "";
  if (said_->styleSheet() != color) said_->setStyleSheet(color);
}

}  // namespace ringscope::viz

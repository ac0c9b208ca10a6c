// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/quiz_panel.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>

#include "viz/kit/passing_list.h"

namespace ringscope::viz {
namespace {

QLabel* addLabel(QVBoxLayout* column, const char* style, const QString& words = {}) {
  auto* label = new QLabel(words, column->parentWidget());
  label->setObjectName(style);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  column->addWidget(label);
  return label;
}

QToolButton* addButton(QVBoxLayout* column, const QString& words, const QString& tip) {
  auto* button = new QToolButton(column->parentWidget());
  button->setText(words);
  button->setToolTip(tip);
  button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  column->addWidget(button);
  return button;
}

}  // namespace

QString clockTime(std::int64_t seconds) {
  return QString("%1:%2").arg(seconds / 60).arg(seconds % 60, 2, 10, QChar('0'));
}

QuizPanel::QuizPanel(QWidget* parent) : QWidget(parent) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  setAccessibleName(tr("Quiz"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(20, 18, 16, 16);
  column->setSpacing(6);
  round_ = addLabel(column, "section");
  time_ = addLabel(column, "clock");
  time_->setAccessibleName(tr("Time of this round"));
  time_words_ = addLabel(column, "dim");
  column->addSpacing(10);
  addLabel(column, "section", tr("SCORE"));
  score_ = addLabel(column, "title");
  results_ = addLabel(column, "mono");
  results_->setAccessibleName(tr("Results of the rounds"));
  file_ = addLabel(column, "dim");
  column->addSpacing(10);
  addLabel(column, "section", tr("HINTS, ONE POINT EACH"));
  hints_ = addLabel(column, "plain");
  hints_->setAccessibleName(tr("Hints of this round"));
  hint_ = addButton(column, {}, tr("Each hint costs a point of this round"));
  column->addSpacing(10);
  addLabel(column, "section", tr("PINNED EVIDENCE"));
  pin_ = addButton(column, tr("Pin what is on show"),
                   tr("Keep this view and its place as evidence (Ctrl+D)"));
  evidence_ = new PassingList<QListWidget>(this);
  evidence_->setObjectName("evidence");
  evidence_->setAccessibleName(tr("Pinned evidence"));
  evidence_->setWordWrap(true);
  evidence_->setFrameShape(QFrame::NoFrame);
  evidence_->setMinimumHeight(72);
  evidence_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);
  evidence_->setSpacing(2);
  evidence_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  column->addWidget(evidence_, 1);
  seal_ = addLabel(column, "dim");
  auto* last = new QHBoxLayout;
  last->setSpacing(8);
  skip_ = addButton(column, tr("Skip"), tr("End this round without an answer"));
  auto* end = addButton(column, tr("End quiz"), tr("Keep the score sheet and open the seal"));
  for (QToolButton* button : {skip_, end}) {
    column->removeWidget(button);
    last->addWidget(button, 1);
  }
  column->addLayout(last);
  connect(hint_, &QToolButton::clicked, this, &QuizPanel::hintRequested);
  connect(skip_, &QToolButton::clicked, this, &QuizPanel::skipRequested);
  connect(pin_, &QToolButton::clicked, this, &QuizPanel::pinRequested);
  connect(evidence_, &QListWidget::itemClicked, this,
          [this](QListWidgetItem* item) { Q_EMIT evidenceChosen(evidence_->row(item)); });
  connect(evidence_, &QListWidget::itemActivated, this,
          [this](QListWidgetItem* item) { Q_EMIT evidenceChosen(evidence_->row(item)); });
  connect(end, &QToolButton::clicked, this, &QuizPanel::endRequested);
}

void QuizPanel::show(const Quiz& quiz) {
  round_->setText(
      tr("ROUND %1 OF %2 · SEED %3").arg(quiz.round().number).arg(quiz.count()).arg(quiz.seed()));
  // The result of a round stays sealed until everybody may see it.
  QStringList lines;
  int right = 0, told = 0, points = 0;
  for (const QuizResult& result : quiz.sheet().results()) {
    if (quiz.isSealed() && result.round == quiz.round().number) continue;
    ++told;
    right += result.isRight();
    points += result.points();
    lines << QString("%1  %2 %3  %4")
                 .arg(result.round, 2)
                 .arg(result.isRight()        ? "✓"
                      : result.answer.empty() ? "–"
                                              : "✗",
                      QString(result.word()).leftJustified(9),
                      clockTime(result.seconds).rightJustified(5));
  }
  constexpr int kMostLines = 5;
  if (lines.size() > kMostLines) lines = lines.last(kMostLines);
  score_->setText(told == 0
                      ? tr("no round revealed yet")
                      : tr("%1 right of %2 · %n point(s)", nullptr, points).arg(right).arg(told));
  results_->setText(lines.join('\n'));
  results_->setVisible(!lines.isEmpty());
  evidence_->clear();
  for (const std::string& line : quiz.evidence()) evidence_->addItem(QString::fromStdString(line));
  pin_->setEnabled(!quiz.isAnswered());
  QStringList hints;
  for (const std::string& hint : quiz.hints()) hints << QString::fromStdString(hint);
  hints_->setText(hints.join("\n\n"));
  hints_->setVisible(!hints.isEmpty());
  hint_->setText(quiz.hasMoreHints() ? tr("Show hint %1").arg(hints.size() + 1)
                                     : tr("No more hints"));
  hint_->setEnabled(quiz.hasMoreHints());
  skip_->setEnabled(!quiz.isAnswered());
  seal_->setText(
      quiz.isSealed()
          ? tr("One mistake is really in this run. The doctor is silent until the round is "
               "revealed.")
          : tr("The seal is open: all views judge again."));
  seal_->setVisible(hints.isEmpty());
  followWords();
}

void QuizPanel::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  followWords();
}

void QuizPanel::followWords() {
  setMinimumHeight(layout()->totalMinimumHeightForWidth(width()));
}

void QuizPanel::setTime(std::int64_t seconds, std::int64_t limit) {
  time_->setText(clockTime(limit > 0 ? std::max<std::int64_t>(0, limit - seconds) : seconds));
  time_words_->setText(limit > 0 ? tr("left to answer") : tr("in this round"));
}

void QuizPanel::setFile(const QString& path) {
  file_->setText(path.isEmpty() ? QString() : tr("Saved as %1").arg(QFileInfo(path).fileName()));
  file_->setToolTip(path);
  file_->setVisible(!path.isEmpty());
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/lesson_panel.h"

#include <QHBoxLayout>

#include "viz/window/stage_area.h"

namespace ringscope::viz {
namespace {

QLabel* addWords(QVBoxLayout* column, const char* style) {
  auto* label = new QLabel(column->parentWidget());
  label->setObjectName(style);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  column->addWidget(label);
  return label;
}

/// Gives a label another style, on which its colour depends.
void restyle(QLabel* label, const char* style) {
  label->setObjectName(style);
  label->setStyleSheet(" ");
  label->setStyleSheet({});
}

void clearLayout(QLayout* layout) {
  while (QLayoutItem* item = layout->takeAt(0)) {
    delete item->widget();
    delete item;
  }
}

}  // namespace

LessonPanel::LessonPanel(QWidget* parent) : QWidget(parent) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  setAccessibleName(tr("Lesson"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(20, 18, 20, 16);
  column->setSpacing(8);
  makeHead(column);
  column->addSpacing(4);
  column->addWidget(makeSeparator(this));
  column->addSpacing(4);
  makeTask(column);
  column->addStretch(1);
  makeButtons(column);
}

void LessonPanel::makeHead(QVBoxLayout* column) {
  number_ = addWords(column, "section");
  lessons_ = new QComboBox(this);
  lessons_->setAccessibleName(tr("Choose a lesson"));
  column->addWidget(lessons_);
  connect(lessons_, &QComboBox::activated, this, &LessonPanel::lessonChosen);
  sentence_ = addWords(column, "dim");
  steps_ = new QVBoxLayout;
  steps_->setSpacing(4);
  column->addLayout(steps_);
}

void LessonPanel::makeTask(QVBoxLayout* column) {
  title_ = addWords(column, "title");
  text_ = addWords(column, "plain");
  choices_ = new QVBoxLayout;
  choices_->setSpacing(6);
  column->addLayout(choices_);
  group_ = new QButtonGroup(this);
  entry_ = new QWidget(this);
  auto* row = new QHBoxLayout(entry_);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  field_ = new QLineEdit(entry_);
  field_->setAccessibleName(tr("Your answer"));
  field_->setPlaceholderText(tr("a number"));
  auto* check = new QPushButton(tr("Check"), entry_);
  row->addWidget(field_, 1);
  row->addWidget(check);
  column->addWidget(entry_);
  said_ = addWords(column, "right");
  hint_ = addWords(column, "dim");
  connect(field_, &QLineEdit::returnPressed, this, &LessonPanel::check);
  connect(check, &QPushButton::clicked, this, &LessonPanel::check);
}

void LessonPanel::makeButtons(QVBoxLayout* column) {
  hint_button_ = new QToolButton(this);
  hint_button_->setText(tr("Hint"));
  hint_button_->setToolTip(tr("Show how to do this step"));
  hint_button_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  back_ = new QPushButton(tr("Back"), this);
  next_ = new QPushButton(tr("Next"), this);
  auto* close = new QToolButton(this);
  close->setText(tr("Close"));
  close->setToolTip(tr("Close the lessons. The recording stays open"));
  close->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  auto* upper = new QHBoxLayout;
  auto* lower = new QHBoxLayout;
  upper->addWidget(hint_button_, 1);
  upper->addWidget(close, 1);
  lower->addWidget(back_, 1);
  lower->addWidget(next_, 1);
  for (QHBoxLayout* row : {upper, lower}) {
    row->setSpacing(8);
    column->addLayout(row);
  }
  connect(hint_button_, &QToolButton::clicked, this, [this] {
    hint_->setVisible(true);
    hint_button_->setEnabled(false);
  });
  connect(back_, &QPushButton::clicked, this, &LessonPanel::backRequested);
  connect(next_, &QPushButton::clicked, this, &LessonPanel::nextRequested);
  connect(close, &QToolButton::clicked, this, &LessonPanel::closeRequested);
}

void LessonPanel::show(const LessonProgress& progress) {
  const LessonStep& step = progress.step();
  number_->setText(
      tr("LESSON %1 OF %2").arg(progress.lessonIndex() + 1).arg(progress.lessons().size()));
  lessons_->clear();
  for (const Lesson& lesson : progress.lessons())
    lessons_->addItem(QString::fromStdString(lesson.title));
  lessons_->setCurrentIndex(static_cast<int>(progress.lessonIndex()));
  sentence_->setText(QString::fromStdString(progress.lesson().sentence));
  title_->setText(QString::fromStdString(step.title));
  text_->setText(QString::fromStdString(step.text));
  hint_->setText(tr("Hint: %1").arg(QString::fromStdString(step.hint)));
  hint_->hide();
  hint_button_->setEnabled(true);
  field_->clear();
  entry_->setVisible(step.task.isQuestion());
  field_->setVisible(step.task.kind == LessonTask::Kind::kNumber);
  showChoices(step.task);
  said_->hide();
  showTicks(progress);
  if (step.task.kind == LessonTask::Kind::kNumber) field_->setFocus();
}

void LessonPanel::showTicks(const LessonProgress& progress) {
  clearLayout(steps_);
  const auto& steps = progress.lesson().steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool done = progress.isDone(i), now = i == progress.stepIndex();
    auto* row = addWords(steps_, "");
    row->setText((done  ? QString("✓  ")
                  : now ? QString("▸  ")
                        : QString("○  ")) +
                 QString::fromStdString(steps[i].title));
    row->setAccessibleName(QString::fromStdString(steps[i].title) +
                           (done ? tr(", done") : tr(", not done yet")));
    row->show();
    restyle(row, done ? "right" : now ? "plain" : "dim");
  }
  back_->setEnabled(!progress.isFirst());
  next_->setEnabled(!progress.isLast());
  const bool lesson_ends = progress.stepIndex() + 1 == steps.size();
  next_->setText(lesson_ends && !progress.isLast() ? tr("Next lesson") : tr("Next"));
  next_->setObjectName(progress.isDone(progress.stepIndex()) ? "primary" : "");
  next_->setStyleSheet(" ");
  next_->setStyleSheet({});
}

void LessonPanel::showChoices(const LessonTask& task) {
  clearLayout(choices_);
  for (std::size_t i = 0; i < task.choices.size(); ++i) {
    auto* box = new QRadioButton(QString::fromStdString(task.choices[i]), this);
    box->setObjectName("answer");
    group_->addButton(box, static_cast<int>(i));
    choices_->addWidget(box);
    box->show();
  }
}

void LessonPanel::check() {
  if (field_->isVisible()) return Q_EMIT answered(field_->text().trimmed());
  const QAbstractButton* chosen = group_->checkedButton();
  Q_EMIT answered(chosen ? chosen->text() : QString());
}

void LessonPanel::say(const QString& words, bool right) {
  said_->setText(words);
  said_->setVisible(!words.isEmpty());
  restyle(said_, right ? "right" : "plain");
}

}  // namespace ringscope::viz

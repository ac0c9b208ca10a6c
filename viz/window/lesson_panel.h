// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QButtonGroup>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRadioButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "viz/lessons/lesson_progress.h"

namespace ringscope::viz {

/// The right panel during a lesson: its steps with ticks, the step on show with its task, a hint,
/// and the way to the next step.
class LessonPanel : public QWidget {
  Q_OBJECT
 public:
  explicit LessonPanel(QWidget* parent);

  /// Shows the current step. The hint and the answer of another step disappear.
  void show(const LessonProgress& progress);
  /// Renews the ticks of the steps.
  void showTicks(const LessonProgress& progress);
  /// Says how the task stands: a problem, a wrong answer, or that the step is done.
  void say(const QString& words, bool right);

 Q_SIGNALS:
  void lessonChosen(int index);
  void answered(const QString& answer);
  void nextRequested();
  void backRequested();
  void closeRequested();

 private:
  void makeHead(QVBoxLayout* column);
  void makeTask(QVBoxLayout* column);
  void makeButtons(QVBoxLayout* column);
  void showChoices(const LessonTask& task);
  void check();

  QComboBox* lessons_;
  QLabel *number_, *sentence_, *title_, *text_, *said_, *hint_;
  QVBoxLayout *steps_, *choices_;
  QButtonGroup* group_;
  QWidget* entry_;
  QLineEdit* field_;
  QToolButton* hint_button_;
  QPushButton *back_, *next_;
};

}  // namespace ringscope::viz

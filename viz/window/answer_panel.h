// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QButtonGroup>
#include <QLabel>
#include <QPushButton>
#include <QRadioButton>
#include <QVBoxLayout>
#include <optional>

#include "traces/analysis/doctor/diagnosis.h"
#include "viz/quiz/quiz.h"
#include "viz/window/answer_reasons.h"

namespace ringscope::viz {

/// The right panel during a quiz: the answers to choose from and, when the round is revealed, the
/// right one with the doctor's proof.
class AnswerPanel : public QWidget {
  Q_OBJECT
 public:
  explicit AnswerPanel(QWidget* parent);

  /// `diagnosis`: of the revealed recording, as soon as the doctor has read it.
  void show(const Quiz& quiz, const std::optional<traces::Diagnosis>& diagnosis);

 Q_SIGNALS:
  /// Emitted with the id of the chosen mistake, the place, and the reason in the learner's words.
  void answered(const QString& mistake, const NamedPlace& where, const QString& because);
  void revealRequested();
  void pageRequested();
  void nextRequested();

 private:
  void showAnswers(const Quiz& quiz);
  void showProof(const Quiz& quiz, const std::optional<traces::Diagnosis>& diagnosis);
  void refreshButtons();

  QVBoxLayout* list_;
  QButtonGroup* group_;
  QList<QRadioButton*> boxes_;
  AnswerReasons* reasons_;
  QLabel *verdict_, *title_, *proof_;
  QPushButton *answer_, *reveal_, *page_, *next_;
  std::vector<std::string> answers_;
  int round_ = 0;  // whose answers are in the list
  bool answered_ = false;
};

}  // namespace ringscope::viz

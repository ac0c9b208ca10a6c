// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLineEdit>

#include "viz/quiz/quiz_hints.h"

namespace ringscope::viz {

/// The fields of an answer for the place of the mistake and for the reason.
class AnswerReasons : public QWidget {
  Q_OBJECT
 public:
  explicit AnswerReasons(QWidget* parent);

  /// Empties the fields, and offers the ranks, training steps and layers of a run.
  void startOver(const traces::RunSpec& run);
  NamedPlace place() const;
  QString because() const { return because_->text().trimmed(); }

 private:
  QComboBox *rank_, *step_, *layer_;
  QLineEdit* because_;
};

}  // namespace ringscope::viz

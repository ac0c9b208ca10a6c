// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QListWidget>
#include <QToolButton>

#include "viz/quiz/quiz.h"

namespace ringscope::viz {

/// The left panel during a quiz: the round, its time, the score, and the pinned evidence.
class QuizPanel : public QWidget {
  Q_OBJECT
 public:
  explicit QuizPanel(QWidget* parent);

  void show(const Quiz& quiz);
  /// Shows the time of the round. With a limit, this is the time that is left.
  void setTime(std::int64_t seconds, std::int64_t limit);
  /// Names the file of the score sheet.
  void setFile(const QString& path);

 Q_SIGNALS:
  void pinRequested();
  void hintRequested();
  void skipRequested();
  /// Emitted with the index of a pinned line whose place the user asks for.
  void evidenceChosen(int index);
  void endRequested();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  /// Keeps the height that the wrapped words need, so that the panel scrolls and nothing overlaps.
  void followWords();

  QLabel *round_, *time_, *time_words_, *score_, *results_, *hints_, *seal_, *file_;
  QListWidget* evidence_;
  QToolButton *pin_, *hint_, *skip_;
};

/// Returns a time as a clock shows it: "2:41".
QString clockTime(std::int64_t seconds);

}  // namespace ringscope::viz

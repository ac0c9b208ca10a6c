// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QToolButton>

#include "viz/session/background.h"
#include "viz/style/theme.h"
#include "viz/window/recent_list.h"

namespace ringscope::viz {

class Door;

/// Returns the path of the sample recording; empty when this installation has none.
QString samplePath();

/// The first page of a window without a recording. It has one door per kind of work: explore the
/// sample model, debug a job, or teach with a quiz and lessons. The pictures are views of the
/// sample recording.
class StartPage : public QWidget {
  Q_OBJECT
 public:
  explicit StartPage(QWidget* parent);

  /// Without the engine, the first door opens the sample recording, and the quiz is closed.
  void setEngine(bool installed);
  /// Shows the line that starts a job. `invitation` is the setting that makes the job send its
  /// recording here; empty while nobody listens.
  void setInvitation(const QString& invitation);
  void setTheme(const Theme& theme);
  /// Shows the recordings that were used last, as many as there is room for.
  void setRecent(const std::vector<RecentRecording>& recordings);

  /// Reports whether every door has its picture, or the sample recording is missing.
  bool isDrawn() const { return !background_.busy(); }
  /// The quiz that the door *Teach* starts. Rounds of 0 minutes have no limit of time.
  struct QuizChoice {
    int seed, rounds, minutes;
  };
  QuizChoice quizChoice() const { return {seed_->value(), rounds_->value(), minutes_->value()}; }

 Q_SIGNALS:
  void exploreRequested();
  /// Emitted with the path of the sample recording, or of one that was used before.
  void recordingRequested(const QString& path);
  void openRequested();
  void listenRequested();
  void quizRequested();
  void lessonsRequested();
  void historyRequested();
  /// The page has come into view.
  void shown();
  void mistakesRequested();

 protected:
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void addExplore();
  void addDebug();
  void addTeach();
  QWidget* makeQuizFields(QWidget* parent);
  void drawPictures();
  void fitRecent();

  QList<Door*> doors_;
  QPushButton *explore_, *quiz_;
  QToolButton* listen_;
  QLineEdit* line_;
  QSpinBox *seed_, *rounds_, *minutes_;
  RecentList* recent_;
  std::vector<RecentRecording> recordings_;
  const Theme* theme_ = &Theme::all().front();
  const Theme* drawn_ = nullptr;  // the theme of the pictures
  Background background_;
};

}  // namespace ringscope::viz

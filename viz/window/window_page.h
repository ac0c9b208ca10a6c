// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QScrollArea>
#include <QSettings>

#include "viz/views/pass/pass_view.h"
#include "viz/window/answer_panel.h"
#include "viz/window/history_page.h"
#include "viz/window/lesson_panel.h"
#include "viz/window/panes.h"
#include "viz/window/quiz_panel.h"
#include "viz/window/run_panel.h"
#include "viz/window/stage_area.h"
#include "viz/window/start_page.h"
#include "viz/window/status_line.h"
#include "viz/window/top_bar.h"

namespace ringscope::viz {

/// All parts of the window: which of them are shown, in which theme, and how large.
class WindowPage : public QWidget {
  Q_OBJECT
 public:
  /// The data and the links that the parts show.
  struct Sources {
    Viewing &viewing, &before;
    EngineLink& engine;
    JobLink& job;
    RunFolder& runs;
  };
  WindowPage(const Sources& sources, QWidget* parent);

  TopBar* topBar() const { return top_bar_; }
  RunPanel* runPanel() const { return run_panel_; }
  StageArea* stage() const { return stage_; }
  StatusLine* status() const { return status_; }
  StartPage* start() const { return start_; }
  HistoryPage* history() const { return history_; }
  /// Shows the start page in place of the panes, or the panes again.
  void showStart(bool shown) { showInFront(shown ? start_ : nullptr); }
  /// Shows the history in place of the panes or of the start page, or what it replaced again.
  void showHistory(bool shown);

  /// The parts of a quiz, beside the stage.
  struct QuizParts {
    QuizPanel* panel = nullptr;
    AnswerPanel* answers = nullptr;
    bool shown = false, sealed = false;
    Theme theme;  ///< of the stage while it is sealed
  };
  const QuizParts& quiz() const { return quiz_; }
  /// Replaces the run panel and the inspector by the panels of a quiz. `sealed`: the views and
  /// colours judge nothing.
  void showQuiz(bool shown, bool sealed);

  LessonPanel* lesson() const { return lesson_; }
  /// Replaces the inspector by the panel of the lessons.
  void showLesson(bool shown);

  /// Fills the screen with the stage alone, and draws everything larger.
  void setPresenting(bool presenting);
  bool isPresenting() const { return presenting_; }
  void toggleRunPanel();
  void toggleInspector();
  /// Shows the parts that the view and the comparison on show leave room for.
  void refreshPanels();

  void setTheme(const Theme& theme);
  const Theme& theme() const { return *theme_; }
  /// Takes the next theme. The user's choice is saved.
  void chooseNextTheme();
  void save(QSettings& settings) const;
  void restore(const QSettings& settings);

 private:
  /// Shows a page alone; null: the panes.
  void showInFront(QWidget* page);

  TopBar* top_bar_;
  RunPanel* run_panel_;
  QWidget *left_, *right_;
  StageArea* stage_;
  Panes* panes_;
  StartPage* start_;
  HistoryPage* history_;
  StatusLine* status_;
  QuizParts quiz_;
  LessonPanel* lesson_;
  QList<View*> panels_;  // the inspector and the timeline
  const Theme* theme_;
  struct {
    const Theme* theme = nullptr;  // the user's choice, now or in an earlier window
    bool run_panel = true, inspector = true, lesson = false;  // by the user's choice
    bool start_before = false;                                // the page that the history replaced
  } shows_;
  bool presenting_ = false;
};

}  // namespace ringscope::viz

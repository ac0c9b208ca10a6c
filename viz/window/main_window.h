// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QHBoxLayout>
#include <QMainWindow>
#include <QScrollArea>
#include <QTimer>
#include <QToolButton>
#include <optional>
#include <utility>
#include <vector>

#include "traces/exchange/import/open_trace.h"
#include "viz/kit/elided_label.h"
#include "viz/link/engine_link.h"
#include "viz/link/job_link.h"
#include "viz/link/run_folder.h"
#include "viz/session/viewing.h"
#include "viz/views/base/view.h"
#include "viz/views/inspector/inspector_view.h"
#include "viz/views/pass/pass_view.h"
#include "viz/window/compare_bar.h"
#include "viz/window/export_button.h"
#include "viz/window/job_bar.h"
#include "viz/window/notice_bar.h"
#include "viz/window/panes.h"
#include "viz/window/problem_card.h"
#include "viz/window/run_panel.h"
#include "viz/window/runs_button.h"
#include "viz/window/stage.h"
#include "viz/window/transport_bar.h"

namespace ringscope::viz {

/// The window: run panel, stage, inspector, transport bar, timeline, status line.
class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  /// `engine_program` is the command-line program; empty: this installation only views.
  explicit MainWindow(const QString& engine_program, QWidget* parent = nullptr);

  /// Reads the file on a worker thread; the window stays usable.
  void openTrace(const QString& path);
  void startRun(const RunConfig& config);
  /// Follows jobs that send their recordings here. `options.folder` empty: into a new folder among
  /// the runs. Throws Error when it cannot listen there.
  void listen(traces::ListenOptions options);
  /// Runs the panel's settings again, and shows what was on show before beside it, at the same
  /// place.
  void whatIf();
  /// Full screen for a projector: the stage alone, everything larger, Space goes on.
  void setPresenting(bool presenting);
  void setTheme(const Theme& theme);
  /// Throws inputError when there is no such view.
  void showView(const QString& name);
  /// Says what went wrong where the window says such things.
  void showProblem(const QString& problem);
  /// Keeps for the next window where this one lies, its borders, which panels are shown, the theme
  /// that the user chose, and how much the unpinned runs may take.
  void saveSettings(QSettings& settings) const;
  void restoreSettings(const QSettings& settings);
  /// Removes the oldest unpinned runs where all of them take more than the limit, and says which.
  void removeOldRuns();

  /// Compares what is on show with another recording, in the Compare view; `floor`: a second one of
  /// the same run, or empty.
  void compareWith(const QString& other, const QString& floor) {
    viewing_.comparison.with(other, floor);
  }

  Viewing& viewing() { return viewing_; }
  Session& session() { return viewing_.session; }
  Navigator& navigator() { return viewing_.navigator; }
  Player& player() { return viewing_.player; }
  EngineLink& engine() { return engine_; }
  JobLink& job() { return job_; }

 Q_SIGNALS:
  /// The file asked for last is shown, or could not be opened.
  void opened(const QString& failure);
  /// The user chose something that saveSettings() keeps and that no later window may miss.
  void settingsChanged();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  QWidget* makeTopBar();
  QWidget* makeTabs();
  QWidget* makeStage();
  QLayout* makeStatusLine(QWidget* page);
  QScrollArea* scrolled(QWidget* widget);
  void connectEngine();
  void connectViewing();
  void connectJob();
  void showJob();
  void leaveJob();
  void jobGrew();
  void jobEnded();
  void pauseOrGo();
  void stepOn();
  void followBefore();
  void makeShortcuts();
  std::optional<RunHold> nameRun(RunConfig& config);
  void beginRun(const RunConfig& config, RunHold hold);
  /// Says why a run cannot work, and leaves what is on show.
  bool refuses(const RunConfig& config);
  void showBeforeStage();
  void showBeside();
  void closeComparison();
  void goBack();
  void keepPlace();
  void frame();
  void refreshStatus();
  void tell(const QString& sentence);
  void refreshPanels();
  void runEnded(const QString& failure);
  void chooseFile();
  void chooseNextTheme();
  /// What is on show from now on; `hold` empty: the run is held here.
  void setShownPath(const QString& path, RunHold hold = {});
  void holdCompared();
  void announceRemoval();
  QString title() const;

  RunFolder runs_{runsFolder()};
  RunHold shown_hold_;
  RunHold job_hold_;                     ///< the job that is received, whatever is on show
  std::vector<RunHold> compared_holds_;  ///< what the comparison reads
  Viewing viewing_;
  Viewing before_;  ///< what a what-if is compared with
  EngineLink engine_;
  JobLink job_;
  bool shows_job_ = false;
  QString engine_program_;
  QString trace_path_;
  QString unopened_;  ///< the file that could not be opened last, while its card is up
  QString message_;   ///< what went wrong last
  QString told_;      ///< what was found where the cursor has been led to; empty: it went on
  const Theme* theme_;
  const Theme* chosen_theme_ = nullptr;  ///< what the user chose, now or earlier
  ElidedLabel *headline_, *status_, *status_right_;
  RunPanel* run_panel_;
  QHBoxLayout* stages_;
  Stage* stage_;
  Stage* before_stage_ = nullptr;
  CompareBar* compare_;
  JobBar* job_bar_;
  NoticeBar* notice_;
  ProblemCard* problem_card_;
  RunsButton* runs_button_;
  ExportButton* export_;
  QWidget* top_bar_;
  QScrollArea *left_, *right_;
  Panes* panes_;
  bool shows_run_panel_ = true, shows_inspector_ = true;
  QList<QToolButton*> tabs_;
  QList<View*> views_;
  TimelineStrip* timeline_;
  QTimer frames_;
  QElapsedTimer frame_clock_;
  bool presenting_ = false;
  bool run_failed_ = false;          ///< the live run on show, at its end
  RunConfig last_config_;            ///< of what is on show
  std::optional<Place> kept_place_;  ///< where the cursor goes once a what-if has come so far
  std::vector<std::pair<QString, Place>> visited_;  ///< where findings and N led away from
  Background background_;
};

}  // namespace ringscope::viz

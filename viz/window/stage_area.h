// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QHBoxLayout>
#include <QToolButton>
#include <utility>
#include <vector>

#include "viz/window/compare_bar.h"
#include "viz/window/go_to_bar.h"
#include "viz/window/job_bar.h"
#include "viz/window/notes_panel.h"
#include "viz/window/notice_bar.h"
#include "viz/window/problem_card.h"
#include "viz/window/stage.h"

namespace ringscope::viz {

/// The middle of the window: the tabs of the views, bars that report, and one stage, or two stages
/// beside each other.
class StageArea : public QWidget {
  Q_OBJECT
 public:
  StageArea(Viewing& viewing, Viewing& before, JobLink& job, QWidget* parent);

  /// Shows a view on every stage. Throws usageError when there is no such view.
  void show(const QString& name);
  /// Shows the view that many tabs further; round again at the ends.
  void showNext(int tabs);
  /// Gives the focus to the search field of the view on show. Returns false when it has none.
  bool focusSearch();
  QString shown() const { return stage_->shown(); }
  QWidget* current() const { return stage_->currentWidget(); }
  QList<View*> views() const;

  /// Shows the second stage and the bar above both. The first call makes the second stage.
  void showBeside();
  void hideBeside();
  /// Closes the views that judge, for a quiz round, or opens them again.
  void setSealed(bool sealed);
  bool isComparing() const { return !compare_->isHidden(); }

  /// Remembers the view on show and the place that the cursor leaves.
  void leave(const Place& from) { visited_.emplace_back(shown(), from); }
  /// Goes back to the view and the place that were left last.
  void goBack();
  void forgetVisited() { visited_.clear(); }

  GoToBar* goToBar() const { return go_to_; }
  CompareBar* compareBar() const { return compare_; }
  JobBar* jobBar() const { return job_bar_; }
  NoticeBar* notice() const { return notice_; }
  NotesPanel* notes() const { return notes_; }
  ProblemCard* problemCard() const { return problem_card_; }

 Q_SIGNALS:
  void viewShown();
  /// The second stage has been made: its views have no theme yet.
  void stageAdded();

 private:
  void makeTabs(QLayout* column);
  void nameTabs();
  /// Moves the cursor of the second stage with that of the first.
  void followBefore();

  Viewing &viewing_, &before_;
  QList<QToolButton*> tabs_;
  JobBar* job_bar_;
  NoticeBar* notice_;
  NotesPanel* notes_;
  GoToBar* go_to_;
  CompareBar* compare_;
  QHBoxLayout* stages_;
  Stage* stage_;
  Stage* before_stage_ = nullptr;  // made when it is first asked for: most sessions never compare
  ProblemCard* problem_card_;
  std::vector<std::pair<QString, Place>> visited_;
};

/// A line between two parts of the window.
QWidget* makeSeparator(QWidget* parent);

}  // namespace ringscope::viz

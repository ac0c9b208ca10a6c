// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/runs_button.h"

#include <QActionGroup>
#include <QDesktopServices>
#include <QFileInfo>
#include <QUrl>

#include "traces/format/core/error.h"
#include "viz/scene/units.h"

namespace ringscope::viz {
namespace {

constexpr qint64 kGiB = qint64{1} << 30;
constexpr qint64 kLimits[] = {kGiB, 5 * kGiB, 20 * kGiB, 100 * kGiB, 0};

}  // namespace

QString describeLimit(qint64 bytes) {
  return bytes <= 0 ? QString("all runs") : QString::fromStdString(describeBytes(bytes));
}

RunsButton::RunsButton(RunFolder& runs, QWidget* parent)
    : QToolButton(parent), runs_(runs), menu_(this), limits_("Unpinned runs may take", this) {
  setText("Runs …");
  setMinimumWidth(68);
  setToolTip("All runs and recordings (Ctrl+H); pin the run on show; choose how much is kept");
  setPopupMode(QToolButton::InstantPopup);
  setMenu(&menu_);
  connect(&menu_, &QMenu::aboutToShow, this, &RunsButton::fill);
}

void RunsButton::fill() {
  menu_.clear();
  QAction* all = menu_.addAction("All runs and recordings …\tCtrl+H");
  connect(all, &QAction::triggered, this, &RunsButton::historyRequested);
  QAction* save = menu_.addAction("Save this recording as …\tCtrl+Shift+S");
  save->setEnabled(!run_.isEmpty());
  connect(save, &QAction::triggered, this, &RunsButton::saveRequested);
  menu_.addSeparator();
  QAction* pinned = menu_.addAction("Pin this run");
  pinned->setCheckable(true);
  pinned->setEnabled(runs_.isOwn(run_));
  pinned->setChecked(runs_.isPinned(run_));
  connect(pinned, &QAction::triggered, this, &RunsButton::pin);
  fillLimits();
  menu_.addSeparator();
  const auto runs = runs_.unpinnedRuns();
  qint64 bytes = 0;
  for (const auto& run : runs) bytes += run.bytes;
  menu_
      .addAction(QString("%1, %2").arg(
          traces::describeCount(static_cast<std::int64_t>(runs.size()), "unpinned run").c_str(),
          describeBytes(bytes).c_str()))
      ->setEnabled(false);
  QAction* folder = menu_.addAction("Show the folder of runs");
  connect(folder, &QAction::triggered, this, [this] {
    if (!QDesktopServices::openUrl(QUrl::fromLocalFile(runs_.path())))
      Q_EMIT said("the runs are in " + runs_.path());
  });
}

void RunsButton::fillLimits() {
  limits_.clear();
  menu_.addMenu(&limits_);
  auto* group = new QActionGroup(&menu_);
  std::vector<qint64> offered(std::begin(kLimits), std::end(kLimits));
  if (std::ranges::find(offered, limit_) == offered.end()) offered.insert(offered.begin(), limit_);
  for (const qint64 bytes : offered) {
    QAction* action =
        limits_.addAction(bytes == 0 ? QString("any amount: keep all runs") : describeLimit(bytes));
    action->setCheckable(true);
    action->setChecked(bytes == limit_);
    group->addAction(action);
    connect(action, &QAction::triggered, this, [this, bytes] {
      limit_ = bytes;
      Q_EMIT limitChosen();
    });
  }
}

void RunsButton::pin(bool pinned) {
  const QString name = QFileInfo(run_).fileName();
  try {
    runs_.setPinned(run_, pinned);
    Q_EMIT said(name + (pinned ? " is pinned: it is never removed" : " is no longer pinned"));
  } catch (const Error& error) {
    Q_EMIT failed(error.what());
  }
}

}  // namespace ringscope::viz

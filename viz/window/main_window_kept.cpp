// SPDX-License-Identifier: GPL-3.0-or-later
// Which runs the main window keeps, and what its title says of the run on show.
#include <QFileInfo>

#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"
#include "viz/scene/units.h"
#include "viz/window/main_window.h"

namespace ringscope::viz {
namespace {

/// "2 old runs (1.2 GiB)".
QString describeRuns(const std::vector<RunFolder::Run>& runs) {
  qint64 bytes = 0;
  for (const RunFolder::Run& run : runs) bytes += run.bytes;
  return QString("%1 (%2)").arg(
      traces::describeCount(static_cast<std::int64_t>(runs.size()), "old run").c_str(),
      describeBytes(bytes).c_str());
}

QString listNames(const std::vector<RunFolder::Run>& runs) {
  constexpr qsizetype kMost = 4;
  QStringList names;
  for (const RunFolder::Run& run : runs) names << run.name;
  const auto more = names.size() - kMost;
  return names.mid(0, kMost).join("; ") + (more > 0 ? QString("; and %1 more").arg(more) : "");
}

/// A file's name as a title shows it: one line, in which Qt finds no placeholder.
QString titleName(const QString& path) {
  const std::string name = QFileInfo(path).fileName().toStdString();
  return QString::fromStdString(traces::toPlainText(name)).replace("[*]", "[*][*]");
}

QString describeState(EngineLink::State state) {
  switch (state) {
    case EngineLink::State::kIdle:
      return "ended";
    case EngineLink::State::kStarting:
      return "starting";
    case EngineLink::State::kRunning:
      return "running";
    case EngineLink::State::kPausing:
      return "pausing";
    case EngineLink::State::kPaused:
      return "paused";
    case EngineLink::State::kStopping:
      return "stopping";
  }
  return {};
}

}  // namespace

void MainWindow::removeOldRuns() {
  const auto removed = runs_.removeBeyond(runs_button_->limit());
  if (removed.empty()) return;
  notice_->show("Removed " + describeRuns(removed),
                QString("The unpinned runs took more than %1, and the oldest go first: %2.\n"
                        "To keep a run, pin it; to keep more, choose a larger limit under Runs.")
                    .arg(describeLimit(runs_button_->limit()), listNames(removed)));
}

/// A smaller limit removes nothing before the next run ends or the next window starts.
void MainWindow::announceRemoval() {
  Q_EMIT settingsChanged();
  const auto beyond = runs_.runsBeyond(runs_button_->limit());
  if (beyond.empty()) return notice_->hide();
  notice_->show("The end of the next run removes " + describeRuns(beyond),
                QString("The unpinned runs take more than %1, and the oldest go first: %2.\n"
                        "To keep a run, pin it; to keep more, choose a larger limit under Runs.")
                    .arg(describeLimit(runs_button_->limit()), listNames(beyond)));
}

QString MainWindow::title() const {
  const Session& session = viewing_.session;
  if (!unopened_.isEmpty() && session.empty() && !session.live())
    return titleName(unopened_) + " · cannot be opened — RingScope";
  if (trace_path_.isEmpty()) return "RingScope";
  QString words = titleName(trace_path_);
  if (shows_job_)
    words += session.live() ? " · live job" : " · job ended";
  else if (session.live())
    words += " · " + describeState(engine_.state());
  else if (run_failed_)
    words += " · failed";
  const QString& other = viewing_.comparison.other();
  if (!other.isEmpty()) words += " · against " + titleName(other);
  return words + " — RingScope";
}

}  // namespace ringscope::viz

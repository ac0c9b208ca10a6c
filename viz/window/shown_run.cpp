// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/shown_run.h"

#include "traces/format/core/utf8.h"
#include "viz/link/recording_path.h"

namespace ringscope::viz {
namespace {

/// Returns a file's name on one line, without a placeholder of Qt's window titles.
QString titleName(const QString& path) {
  const std::string name = recordingName(path).toStdString();
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

void ShownRun::show(const QString& path, RunHold hold) {
  hold_ = hold.path().isEmpty() ? runs_.hold(path) : std::move(hold);
  path_ = path;
  failed_ = false;
  unopened_.clear();
}

QString ShownRun::reserveJob() {
  job_hold_ = runs_.reserveJob(QDateTime::currentDateTime());
  return job_hold_.path();
}

void ShownRun::holdCompared(const QStringList& paths) {
  compared_holds_.clear();
  for (const QString& path : paths)
    if (!path.isEmpty()) compared_holds_.push_back(runs_.hold(path));
}

QString ShownRun::title(const Session& session, bool is_job, EngineLink::State state,
                        const QString& other) const {
  if (!unopened_.isEmpty() && session.trace().moments().empty() && !session.live())
    return titleName(unopened_) + " · cannot be opened — RingScope";
  if (path_.isEmpty()) return "RingScope";
  QString words = titleName(path_);
  if (is_job)
    words += session.live() ? " · live job" : " · job ended";
  else if (session.live())
    words += " · " + describeState(state);
  else if (failed_)
    words += " · failed";
  if (!other.isEmpty()) words += " · against " + titleName(other);
  return words + " — RingScope";
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/job_control.h"

#include <QFileInfo>

#include "traces/format/trace/lacks.h"
#include "traces/format/trace/trace.h"

namespace ringscope::viz {

JobControl::JobControl(const WindowParts& parts, JobLink& job, const EngineLink& engine,
                       QObject* parent)
    : QObject(parent), parts_(parts), job_(job), engine_(engine) {
  connect(&job_, &JobLink::jobBegan, this, &JobControl::begin);
  connect(&job_, &JobLink::grew, this, &JobControl::grow);
  connect(&job_, &JobLink::jobEnded, this, &JobControl::finish);
  connect(parts.page.stage()->jobBar(), &JobBar::showRequested, this, &JobControl::show);
}

void JobControl::listen(traces::ListenOptions options) {
  if (options.folder.empty()) options.folder = parts_.shown.reserveJob().toStdString();
  job_.listen(std::move(options));
}

/// A recording that somebody looks at stays on show until the user asks for the job.
void JobControl::begin() {
  parts_.shown.holdJob(QString::fromStdString(job_.job().folder));
  if (engine_.active() || (!parts_.viewing.session.trace().moments().empty() && !shown_))
    return parts_.page.stage()->jobBar()->setJobOnStage(false);
  show();
}

void JobControl::show() {
  Q_EMIT taking();
  shown_ = true;
  parts_.page.stage()->jobBar()->setJobOnStage(true);
  parts_.show(QString::fromStdString(job_.job().folder));
  parts_.page.runPanel()->setRecording({});
  Viewing& viewing = parts_.viewing;
  viewing.session.open(job_.trace() ? job_.trace() : std::make_shared<traces::Trace>(),
                       QFileInfo(parts_.shown.path()).fileName(), job_.live());
  if (job_.diagnosis()) viewing.session.setDiagnosis(*job_.diagnosis());
  viewing.player.setFollowing(job_.live());
}

void JobControl::leave() {
  if (!shown_) return;
  shown_ = false;
  parts_.page.stage()->jobBar()->setJobOnStage(false);
}

void JobControl::grow() {
  if (!shown_) return;
  parts_.viewing.session.grow(job_.trace());
  if (job_.diagnosis()) parts_.viewing.session.setDiagnosis(*job_.diagnosis());
}

void JobControl::finish() {
  if (!shown_) return;
  parts_.viewing.session.setLive(false);
  const auto remarks = traces::listRemarks(parts_.viewing.session.trace());
  if (!job_.problem().isEmpty())
    parts_.page.status()->setProblem(job_.problem());
  else if (!remarks.empty())
    parts_.page.status()->setProblem(QString::fromStdString(remarks.front()));
  parts_.page.runPanel()->setRecording(parts_.shown.path());
  Q_EMIT recorded();
}

}  // namespace ringscope::viz

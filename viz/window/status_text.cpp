// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/status_text.h"

#include <QStringList>

namespace ringscope::viz {
namespace {

QString ranksText(const Session& session) {
  const int ranks = session.trace().worldSize(),
            cores = session.trace().run() ? session.trace().run()->cores : 0;
  if (cores == 0 || ranks <= cores) return QString("%1 ranks").arg(ranks);
  return QString("%1 ranks on %2 cores (virtual: overlap is the scheduler’s)")
      .arg(ranks)
      .arg(cores);
}

QString worstText(const Session& session) {
  const auto* worst = session.worst().overall(session.trace());
  if (!worst) return "not compared with unsharded attention";
  return QString("%1worst %2 limit (%3)")
      .arg(traces::diverges(*worst) ? "▲ " : "",
           QString::fromStdString(traces::describeMultiple(worst->ratio)),
           QString::fromStdString(traces::describe(*worst)));
}

}  // namespace

QString headlineText(const Session& session) {
  const auto* run = session.trace().run();
  if (!run) return session.live() ? "a run is starting" : "";
  return QString("%1, %2 layers · %3 tokens · %4 ranks · %5, %6, %7")
      .arg(QString::fromStdString(run->model.name))
      .arg(run->model.layers)
      .arg(run->seq_len)
      .arg(run->worldSize())
      .arg(name(run->strategy), name(run->balance.value_or(traces::Balance::kNone)),
           name(run->mask));
}

QString statusText(const Session& session, const EngineLink& engine) {
  QStringList parts{session.live() ? engine.sentence() : QString("recorded")};
  if (session.trace().worldSize() > 0) {
    const auto& end = session.trace().end();
    parts << ranksText(session) << QString("%L1 events").arg(session.trace().eventCount());
    if (end) parts << QString("%1 dropped").arg(end->dropped_events);  // said at the end alone
    parts << worstText(session);
    if (const auto& diagnosis = session.diagnosis(); diagnosis && !diagnosis->findings().empty())
      parts << (diagnosis->findings().size() == 1
                    ? QString("1 finding")
                    : QString("%1 findings").arg(diagnosis->findings().size()));
  }
  return parts.join(" · ");
}

}  // namespace ringscope::viz

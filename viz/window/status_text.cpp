// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/status_text.h"

#include <QStringList>

namespace ringscope::viz {
namespace {

QString textOf(const nlohmann::json& json, const char* key) {
  return QString::fromStdString(json.value(key, ""));
}

QString ranksText(const Hub& hub) {
  const int ranks = hub.trace().worldSize(), cores = hub.trace().run().value("cores", 0);
  if (cores == 0 || ranks <= cores) return QString("%1 ranks").arg(ranks);
  return QString("%1 ranks on %2 cores (virtual: overlap is the scheduler’s)")
      .arg(ranks)
      .arg(cores);
}

QString worstText(const Hub& hub) {
  const auto* worst = hub.worst().overall(hub.trace());
  if (!worst) return "not compared with unsharded attention";
  return QString("%1worst %2 noise (%3)")
      .arg(worst->multiple <= traces::kNoiseLimit ? "" : "▲ ",
           QString::fromStdString(traces::describeMultiple(worst->multiple)),
           QString::fromStdString(traces::describe(*worst)));
}

}  // namespace

QString headlineText(const Hub& hub) {
  const auto& run = hub.trace().run();
  if (run.empty()) return hub.live() ? "a run is starting" : "";
  const auto model = run.value("model", nlohmann::json::object());
  return QString("%1, %2 layers · %3 tokens · %4 ranks · %5, %6, %7")
      .arg(textOf(model, "name"))
      .arg(model.value("layers", 0))
      .arg(run.value("seq_len", 0))
      .arg(run.value("cp", 0))
      .arg(textOf(run, "strategy"), textOf(run, "balance"), textOf(run, "mask"));
}

QString statusText(const Hub& hub, const EngineLink& engine) {
  QStringList parts{hub.live() ? engine.sentence() : QString("recorded")};
  if (hub.trace().worldSize() > 0) {
    const auto& end = hub.trace().end();
    parts << ranksText(hub) << QString("%L1 events").arg(hub.trace().eventCount())
          << QString("%1 dropped").arg(end ? end->dropped_events : 0) << worstText(hub);
    if (const auto& diagnosis = hub.diagnosis(); diagnosis && !diagnosis->findings().empty())
      parts << (diagnosis->findings().size() == 1
                    ? QString("1 finding")
                    : QString("%1 findings").arg(diagnosis->findings().size()));
  }
  return parts.join(" · ");
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/run_control.h"

#include <QFileInfo>

#include "traces/exchange/remote/remote_address.h"
#include "traces/format/core/error.h"
#include "traces/format/trace/trace.h"
#include "viz/link/recording_path.h"
#include "viz/window/run_name.h"

namespace ringscope::viz {
namespace {

/// Returns the path, with a number added when the file holds a recording already.
QString unusedPath(const QString& path) {
  const QFileInfo asked(path);
  const QString stem = asked.path() + "/" + asked.completeBaseName();
  const QString extension = asked.suffix().isEmpty() ? QString() : "." + asked.suffix();
  QString unused = path;
  for (int number = 2; QFileInfo(unused).size() > 0; ++number)
    unused = stem + " " + QString::number(number) + extension;
  return unused;
}

}  // namespace

RunControl::RunControl(const WindowParts& parts, EngineLink& engine, BesideControl& beside,
                       const QString& program, QObject* parent)
    : QObject(parent), parts_(parts), engine_(engine), beside_(beside), program_(program) {
  RunPanel* panel = parts.page.runPanel();
  connect(panel, &RunPanel::runRequested, this, [this, panel] { start(panel->config()); });
  connect(panel, &RunPanel::whatIfRequested, this, &RunControl::whatIf);
  connectEngine();
}

void RunControl::connectEngine() {
  Viewing& viewing = parts_.viewing;
  connect(&engine_, &EngineLink::chunkArrived, this, [this](const traces::Chunk& chunk) {
    const bool sealed = parts_.viewing.navigator.cursor().sealed;
    if (sealed && chunk.kind == traces::ChunkKind::kDiffs) return;  // the recording keeps it
    try {
      parts_.viewing.session.addChunk(chunk);
    } catch (const Error& error) {
      parts_.page.status()->setProblem(error.what());
    }
  });
  connect(&engine_, &EngineLink::paused, this, [this] {
    // The picture of the stop is the newest ring step.
    parts_.viewing.session.publish();
    parts_.viewing.player.goToHead();
    parts_.viewing.player.setPlaying(false);
  });
  connect(&engine_, &EngineLink::tensorRead, &viewing.live, &LiveReads::setRead);
  connect(&engine_, &EngineLink::tensorsListed, &viewing.live, &LiveReads::setTensors);
  connect(&viewing.live, &LiveReads::readRequested, &engine_, &EngineLink::read);
  connect(&viewing.live, &LiveReads::tensorsRequested, &engine_, &EngineLink::listTensors);
  connect(&engine_, &EngineLink::ended, this, &RunControl::finish);
  connect(&engine_, &EngineLink::stateChanged, this, [this] {
    parts_.viewing.live.setPossible(engine_.state() == EngineLink::State::kPaused);
  });
}

bool RunControl::refuses(const RunConfig& config) {
  const QString reason = parts_.page.runPanel()->reasonAgainst(config);
  if (!reason.isEmpty()) parts_.page.status()->setProblem(reason);
  return !reason.isEmpty();
}

std::optional<RunHold> RunControl::nameRun(RunConfig& config) {
  if (!config.run_on.isEmpty()) {
    if (config.trace.isEmpty())
      config.trace =
          QString("%1/%2 %3.rscope")
              .arg(kRemoteRunFolder, QDateTime::currentDateTime().toString("yyyy-MM-dd HH-mm-ss"),
                   runName(config));
    return RunHold();
  }
  if (program_.isEmpty()) {
    parts_.page.status()->setProblem(
        "this installation only views recordings: the engine is not installed");
    return {};
  }
  if (config.trace.isEmpty()) {
    try {
      RunHold hold = parts_.shown.folder().makeRun(runName(config), QDateTime::currentDateTime());
      config.trace = hold.path();
      return hold;
    } catch (const Error& error) {
      parts_.page.status()->setProblem(error.what());
      return {};
    }
  }
  const QString asked = config.trace;
  config.trace = unusedPath(asked);
  if (config.trace != asked)
    parts_.page.stage()->notice()->show(
        "This run is recorded in " + config.trace,
        asked + " holds an earlier recording, which stays as it is.");
  return RunHold();
}

void RunControl::start(const RunConfig& config) {
  if (refuses(config)) return;
  RunConfig named = config;
  std::optional<RunHold> hold = nameRun(named);
  if (!hold) return;
  beside_.close();
  last_config_ = config;
  parts_.page.runPanel()->setConfig(config);
  begin(named, std::move(*hold));
  parts_.viewing.player.setPlaying(true);
}

void RunControl::whatIf() {
  RunPanel* panel = parts_.page.runPanel();
  if (!panel->canRunAgain() || engine_.active()) return;
  RunConfig config = panel->config();
  if (refuses(config)) return;
  std::optional<RunHold> hold = nameRun(config);
  if (!hold) return;
  const QString change = changes(last_config_, config);
  last_config_ = config;
  const Place place = parts_.viewing.navigator.cursor().place;
  config.steps = place.train_step + 1;
  config.capture = "values:steps=" + std::to_string(place.train_step);
  const RunHold before_hold = parts_.shown.release();  // until the comparison holds the run before
  auto before = parts_.viewing.session.file();         // is open already
  if (!before) before = std::make_shared<RecordedFile>(parts_.shown.path().toStdString());
  beside_.showBefore();
  begin(config, std::move(*hold));
  parts_.page.stage()->compareBar()->setChange(change);
  parts_.viewing.comparison.withBefore(std::move(before));
}

void RunControl::begin(const RunConfig& config, RunHold hold) {
  const bool remote = !config.run_on.isEmpty();
  const QString path = remote ? QString::fromStdString(traces::shellAddress(
                                    config.run_on.toStdString(), config.trace.toStdString()))
                              : config.trace;
  parts_.show(path, std::move(hold));
  Q_EMIT taking();
  parts_.page.runPanel()->setRecording({});
  parts_.viewing.session.open(std::make_shared<traces::Trace>(), recordingName(path), true);
  try {
    engine_.start(program_, config.arguments(), config.run_on, config.hiddenMistakes());
  } catch (const Error& error) {
    parts_.page.status()->setProblem(error.what());
    parts_.viewing.session.setLive(false);
  }
}

void RunControl::pauseOrGo() {
  engine_.state() == EngineLink::State::kPaused ? engine_.resume() : engine_.pause();
}

void RunControl::finish(const QString& failure) {
  Session& session = parts_.viewing.session;
  session.publish();
  session.setLive(false);
  beside_.keepPlace();
  if (parts_.viewing.navigator.cursor().sealed)
    return Q_EMIT changed();  // neither failure nor doctor
  parts_.shown.setFailed(!failure.isEmpty());
  parts_.page.status()->setProblem(failure);
  Q_EMIT changed();
  const bool remote = isOnOtherMachine(parts_.shown.path());
  if (remote ? session.trace().moments().empty() : !QFileInfo::exists(parts_.shown.path())) return;
  if (!remote) parts_.page.runPanel()->setRecording(parts_.shown.path());
  session.diagnose(parts_.shown.path());
  Q_EMIT recorded();
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/clock_replay.h"

#include "viz/session/problem.h"

namespace ringscope::viz {
namespace {

/// As many are replayed in a few milliseconds.
constexpr std::size_t kAtOnceReplayed = 4000;

}  // namespace

ClockReplay::ClockReplay(QObject* parent) : QObject(parent) {
  hardware_.link = traces::linkPreset("pcie4").value;
  connect(&background_, &Background::failed, this, [this](const QString&, const QString& problem) {
    fail(problem.toStdString());
    Q_EMIT changed();
  });
}

void ClockReplay::read(const Session& session, std::int32_t train_step) {
  const bool same = train_step_ == train_step && generation_ == session.generation();
  // A live run has more every time: what is under way of this step is ended first.
  if (same && (events_ == session.trace().eventCount() || replaying())) return;
  train_step_ = train_step;
  generation_ = session.generation();
  events_ = session.trace().eventCount();
  replayed_ = false;
  background_.cancel("read");
  background_.cancel("replay");
  if (!same) {
    clock_.reset();
    recorded_.reset();
    why_ = "The schedule of this step is being read.";
  }
  auto step = std::make_shared<traces::StepEvents>(
      traces::stepEvents(session.trace(), train_step, train_step));
  if (traces::countEvents(step->of_rank) <= kAtOnceReplayed) {
    recorded_ = recordedStep(std::move(*step));
    why_ = whyNoModel(*recorded_);
    return;
  }
  background_.request(
      "read", [step](const std::stop_token& stop) { return recordedStep(std::move(*step), stop); },
      [this](const RecordedStep& recorded) { takeStep(recorded); });
}

void ClockReplay::takeStep(const RecordedStep& step) {
  recorded_ = step;
  why_ = whyNoModel(*recorded_);
  if (wanted_) replay();
  Q_EMIT changed();
}

void ClockReplay::show(const Session& session, std::int32_t train_step) {
  wanted_ = true;
  read(session, train_step);
  if (recorded_ && !replayed_ && !replaying()) replay();
}

void ClockReplay::setHardware(const traces::Hardware& hardware) {
  if (hardware_ == hardware) return;
  hardware_ = hardware;
  if (!recorded_ || !wanted_ || replaying())
    return;  // the newest is replayed after what is under way
  replay();
  if (!replaying()) Q_EMIT changed();
}

void ClockReplay::replay() {
  replayed_ = true;
  why_ = whyNoModel(*recorded_);
  if (!why_.empty()) return clock_.reset();
  if (traces::countEvents(recorded_->events) <= kAtOnceReplayed) {
    try {
      clock_ = makeDrawnOwnClock(recorded_, train_step_, hardware_);
    } catch (...) {
      fail(describeProblem(std::current_exception()).toStdString());
    }
    return;
  }
  if (!clock_) why_ = "The schedule of this step is being replayed.";
  background_.request(
      "replay",
      [recorded = recorded_, step = train_step_,
       hardware = hardware_](const std::stop_token& stop) {
        return makeDrawnOwnClock(recorded, step, hardware, stop);
      },
      [this](const std::shared_ptr<const OwnClock>& clock) { take(clock); });
}

void ClockReplay::take(const std::shared_ptr<const OwnClock>& clock) {
  clock_ = clock;
  why_.clear();
  if (clock->hardware != hardware_) replay();
  Q_EMIT changed();
}

void ClockReplay::fail(const std::string& problem) {
  clock_.reset();
  why_ = "There is no model of this step with own devices: " + problem;
}

}  // namespace ringscope::viz

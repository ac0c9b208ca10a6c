// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/session/session.h"

#include "traces/format/core/error.h"
#include "viz/scene/memory_series.h"
#include "viz/session/problem.h"

namespace ringscope::viz {

Session::Session(QObject* parent) : QObject(parent), trace_(std::make_shared<traces::Trace>()) {
  connect(&tracks_, &TrackStore::arrived, this, [this] {
    ++counts_.version;
    Q_EMIT stateChanged();
  });
}

void Session::open(std::shared_ptr<const traces::Trace> trace, const QString& name, bool live,
                   std::shared_ptr<RecordedFile> file) {
  trace_ = std::move(trace);
  growing_.reset();
  file_ = std::move(file);
  worst_ = {};
  worst_.update(*trace_);
  name_ = name;
  live_ = was_live_ = live;
  diagnosis_.reset();
  background_.cancel("diagnosis");
  tracks_.clear();
  ++counts_.recording;
  ++counts_.generation;
  dataHasChanged();
  Q_EMIT dataChanged();
  Q_EMIT stateChanged();
}

void Session::grow(std::shared_ptr<const traces::Trace> trace) {
  trace_ = std::move(trace);
  growing_.reset();
  worst_ = {};
  worst_.update(*trace_);
  if (tracks_.ofFile()) tracks_.clear();
  ++counts_.generation;
  dataHasChanged();
  Q_EMIT dataChanged();
}

void Session::addChunk(const traces::Chunk& chunk) {
  if (!growing_) trace_ = growing_ = trace_->snapshot();
  growing_->add(chunk);
  worst_.update(*trace_);
  dataHasChanged();
  dirty_ = true;
}

void Session::dataHasChanged() {
  ++counts_.data;
  ++counts_.version;
}

void Session::publish() {
  if (!dirty_) return;
  dirty_ = false;
  Q_EMIT dataChanged();
}

void Session::setLive(bool live) {
  live_ = live;
  ++counts_.version;
  Q_EMIT stateChanged();
}

std::shared_ptr<const RingScene> Session::ring(const Cursor& cursor) const {
  Cursor key = cursor;
  // On the time axis the phase decides where the other ranks stand.
  if (key.axis == Axis::kRingStep) key.phase = 0;
  key.tensor.clear();
  key.token = TokenIndex::none();
  return ring_.get(data(), {key, live_}, [&] { return makeRingScene(*trace_, cursor, live_); });
}

std::shared_ptr<const PositionStrip> Session::positions(const Cursor& cursor) const {
  Cursor key;
  key.group = cursor.group;
  key.place.train_step = cursor.place.train_step;
  key.sealed = cursor.sealed;
  return positions_.get(
      data(), key, [&] { return makePositionStrip(*trace_, cursor); },
      [](const PositionStrip& strip) { return strip.complete() && strip.unknown.empty(); });
}

TimeFolds Session::pauses(WorldRank rank) const {
  if (const auto of_file = tracks_.ofFile()) return of_file->folds;
  const bool in_memory = was_live_ || TrackStore::hasFewEvents(*trace_);
  return in_memory ? rankPauses(*trace_, rank) : TimeFolds();
}

void Session::diagnose(const QString& path) {
  if (this->path() != path) file_ = std::make_shared<RecordedFile>(path.toStdString());
  background_.request(
      "diagnosis",
      [file = file_](const std::stop_token&) {
        try {
          const auto trace = file->trace()->snapshot();
          trace->readEvents();  // all damage is told
          return traces::diagnose(*trace);
        } catch (...) {
          traces::Diagnosis none;
          none.problem = describeProblem(std::current_exception()).toStdString();
          return none;
        }
      },
      [this](const traces::Diagnosis& diagnosis) { setDiagnosis(diagnosis); });
}

void Session::setDiagnosis(traces::Diagnosis diagnosis) {
  diagnosis_ = std::move(diagnosis);
  ++counts_.version;
  Q_EMIT stateChanged();
}

}  // namespace ringscope::viz

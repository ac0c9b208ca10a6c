// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/session/comparison.h"

namespace ringscope::viz {
namespace {

constexpr const char* kMap = "map";

/// Returns the file of a path; null for an empty one.
std::shared_ptr<RecordedFile> fileAt(const QString& path) {
  return path.isEmpty() ? nullptr : std::make_shared<RecordedFile>(path.toStdString());
}

QString pathAt(const std::shared_ptr<RecordedFile>& file) {
  return file ? QString::fromStdString(file->path()) : QString();
}

}  // namespace

Comparison::Comparison(const Session& session, QObject* parent)
    : QObject(parent), session_(session) {
  connect(&session, &Session::stateChanged, this, &Comparison::follow);
  connect(&background_, &Background::failed, this, [this](const QString& kind, const QString& why) {
    kind == kMap ? takeMap(nullptr, why) : set(State::kFailed, why);
  });
}

QString Comparison::other() const {
  return pathAt(other_);
}

QString Comparison::floor() const {
  return pathAt(floor_);
}

void Comparison::with(const QString& other, const QString& floor) {
  beginWith(fileAt(other), fileAt(floor), false);
}

void Comparison::beginWith(std::shared_ptr<RecordedFile> other, std::shared_ptr<RecordedFile> floor,
                           bool before) {
  other_ = std::move(other);
  floor_ = std::move(floor);
  before_ = before;
  run_ = session_.file();
  start();
}

void Comparison::withBefore(std::shared_ptr<RecordedFile> before) {
  beginWith(std::move(before), nullptr, true);
}

void Comparison::withFloor(const QString& floor) {
  floor_ = fileAt(floor);
  start();
}

void Comparison::close() {
  other_.reset();
  floor_.reset();
  start();
}

/// The session has opened another file, or has none while a run goes on.
void Comparison::follow() {
  if (run_ == session_.file()) return;
  run_ = session_.file();
  start();
}

void Comparison::start() {
  background_.cancel("compare");
  background_.cancel(kMap);
  runs_.reset();
  map_of_.reset();
  map_.reset();
  if (!other_) return set(State::kNone);
  if (!run_) return set(State::kWaiting);
  progress_ = std::make_shared<std::atomic<double>>(0);
  background_.request(
      "compare",
      [run = run_, other = other_, floor = floor_,
       progress = progress_](const std::stop_token& stop) {
        return std::make_shared<const ComparedRuns>(
            compareFiles(*run, *other, floor.get(), [&](double share) {
              *progress = share;
              return !stop.stop_requested();
            }));
      },
      [this](const std::shared_ptr<const ComparedRuns>& runs) {
        runs_ = runs;
        set(State::kDone);
      });
  set(State::kComparing);
}

void Comparison::askMap(const MapSubject& subject) {
  if (!runs_ || map_of_ == subject) return;
  map_of_ = subject;
  map_.reset();
  map_problem_.clear();
  if (!traces::hasRowsByToken(subject.tensor)) {
    background_.cancel(kMap);
    map_ = std::make_shared<const traces::DifferenceMap>();
    return;
  }
  background_.request(
      kMap,
      [subject, run = run_, other = other_](const std::stop_token&) {
        return std::make_shared<const traces::DifferenceMap>(mapOfFiles(*run, *other, subject));
      },
      [this](const std::shared_ptr<const traces::DifferenceMap>& map) { takeMap(map, {}); });
}

void Comparison::takeMap(const std::shared_ptr<const traces::DifferenceMap>& map,
                         const QString& problem) {
  map_ = map;
  map_problem_ = problem;
  Q_EMIT mapChanged();
}

void Comparison::set(State state, const QString& problem) {
  const bool same = state_ == state && state == State::kNone;
  state_ = state;
  problem_ = problem;
  if (!same) Q_EMIT changed();
}

}  // namespace ringscope::viz

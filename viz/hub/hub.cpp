// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/hub/hub.h"

#include <algorithm>
#include <cmath>

namespace ringscope::viz {

Hub::Hub(QObject* parent) : QObject(parent), trace_(std::make_shared<traces::Trace>()) {}

void Hub::setTrace(std::shared_ptr<traces::Trace> trace, const QString& name, bool live) {
  trace_ = std::move(trace);
  index_ = {};
  index_.update(*trace_);
  worst_ = {};
  worst_.update(*trace_);
  name_ = name;
  live_ = live;
  last_chunk_ = 0;
  moment_ = 0;
  phase_ = 0;
  selected_rank_ = 0;
  next_divergence_ = 0;
  diagnosis_.reset();
  scene_.reset();
  Q_EMIT traceChanged();
  Q_EMIT cursorChanged();
  Q_EMIT stateChanged();
}

void Hub::addChunk(const traces::Chunk& chunk) {
  // A ring step that finished earlier on another rank may sort before the viewed one: keep the
  // place.
  const bool had_moments = !empty();
  const Place viewed = place();
  const int ranks = trace_->worldSize();
  trace_->add(chunk);
  // Whoever paints before publish() must not find a scene without ranks that are there by now.
  if (had_moments == empty() || ranks != trace_->worldSize()) scene_.reset();
  last_chunk_ = std::max(last_chunk_, chunk.seq);
  if (had_moments && chunk.kind == traces::ChunkKind::kEvents) {
    const auto& moments = trace_->moments();
    moment_ = static_cast<int>(
        std::lower_bound(moments.begin(), moments.end(), viewed, traces::before) - moments.begin());
  }
  if (following_) tieToHead();
  dirty_ = true;
}

void Hub::tieToHead() {
  if (empty()) return;
  moment_ = static_cast<int>(trace_->moments().size()) - 1;
  phase_ = 1;
  scene_.reset();
}

void Hub::publish() {
  if (!dirty_) return;
  dirty_ = false;
  index_.update(*trace_);
  worst_.update(*trace_);
  scene_.reset();
  Q_EMIT traceChanged();
  Q_EMIT cursorChanged();
}

void Hub::setLive(bool live) {
  live_ = live;
  Q_EMIT stateChanged();
}

Place Hub::place() const {
  return empty() ? Place{} : trace_->moments()[static_cast<std::size_t>(moment_)];
}

void Hub::setMoment(int moment, double phase) {
  if (empty()) return;
  moment_ = std::clamp(moment, 0, static_cast<int>(trace_->moments().size()) - 1);
  phase_ = std::clamp(phase, 0.0, 1.0);
  scene_.reset();
  Q_EMIT cursorChanged();
}

void Hub::setPlace(const Place& place) {
  const auto& moments = trace_->moments();
  const auto at = std::lower_bound(moments.begin(), moments.end(), place, traces::before);
  setMoment(static_cast<int>(at - moments.begin()), 0);
}

void Hub::setInstant(std::int64_t ns) {
  setFollowing(false);
  const auto& moments = trace_->moments();
  int at = 0;
  std::pair<std::int64_t, std::int64_t> window{0, 0};
  for (std::size_t m = 0; m < moments.size(); ++m) {
    const auto here = stageWindow(*trace_, index_, moments[m], selected_rank_);
    if (here.second == 0 || here.first > ns) continue;
    at = static_cast<int>(m);
    window = here;
  }
  const auto length = static_cast<double>(std::max<std::int64_t>(1, window.second - window.first));
  setMoment(at, static_cast<double>(ns - window.first) / length);
}

void Hub::move(int moments) {
  setFollowing(false);
  // One step back inside a step goes to its beginning first, as players do.
  if (moments < 0 && phase_ > 0.05) return setMoment(moment_ + moments + 1, 0);
  setMoment(moment_ + moments, 0);
}

void Hub::moveTrainStep(int steps) {
  setFollowing(false);
  Place target = place();
  target.train_step += steps;
  if (!empty()) setPlace(target);
}

void Hub::nextDivergence() {
  const auto found = traces::divergences(*trace_);
  if (found.empty()) return;
  Q_EMIT leaving(place());
  setFollowing(false);
  const auto* diff = found[next_divergence_++ % found.size()];
  tensor_ = QString::fromStdString(diff->tensor);
  Place target = diff->place;
  target.layer = std::max<std::int16_t>(target.layer, 0);  // loss and gradients belong to no layer
  target.stage = 0;
  setPlace(target);
}

void Hub::selectTensor(const QString& name) {
  tensor_ = name;
  Q_EMIT cursorChanged();
}

void Hub::lead(const QString& view, const Place& place) {
  Q_EMIT leaving(this->place());
  setFollowing(false);
  setPlaying(false);
  setPlace(place);
  Q_EMIT viewRequested(view);
}

void Hub::setPaused(bool paused) {
  if (paused_ == paused) return;
  paused_ = paused;
  live_read_.reset();
  live_tensors_.clear();
  Q_EMIT stateChanged();
}

void Hub::setLiveTensors(std::vector<LiveTensor> tensors) {
  live_tensors_ = std::move(tensors);
  Q_EMIT liveTensorsArrived();
}

void Hub::setLiveRead(LiveRead read) {
  live_read_ = std::move(read);
  Q_EMIT liveReadArrived();
}

void Hub::setReducedMotion(bool reduced) {
  reduced_motion_ = reduced;
  if (reduced && !empty()) phase_ = 1;
  Q_EMIT stateChanged();
  Q_EMIT cursorChanged();
}

void Hub::advanceWithoutMotion(double seconds) {
  still_for_ += seconds * speed_;
  if (still_for_ < kStepSeconds) return;
  still_for_ = 0;
  if (moment_ + 1 < static_cast<int>(trace_->moments().size())) return setMoment(moment_ + 1, 1);
  if (!live_) setPlaying(false);
}

void Hub::advance(double seconds) {
  if (!playing_ || empty()) return;
  if (reduced_motion_) return advanceWithoutMotion(seconds);
  const double at = moment_ + phase_ + seconds * speed_ / kStepSeconds;
  const auto end = static_cast<double>(trace_->moments().size());
  if (at >= end) {
    setMoment(static_cast<int>(end) - 1, 1);
    if (!live_) setPlaying(false);
    return;
  }
  const int moment = static_cast<int>(std::floor(at));
  if (moment != moment_) scene_.reset();
  moment_ = moment;
  phase_ = at - moment;
  if (axis_ == Axis::kTime) scene_.reset();
  Q_EMIT cursorChanged();
}

void Hub::setPlaying(bool playing) {
  if (playing && !empty() && !live_ && moment_ + 1 == static_cast<int>(trace_->moments().size()) &&
      phase_ >= 1)
    setMoment(0, 0);
  if (playing) following_ = false;
  playing_ = playing;
  Q_EMIT stateChanged();
}

void Hub::setSpeed(double speed) {
  speed_ = speed;
  Q_EMIT stateChanged();
}

void Hub::setAxis(Axis axis) {
  axis_ = axis;
  scene_.reset();
  Q_EMIT stateChanged();
  Q_EMIT cursorChanged();
}

void Hub::setFollowing(bool following) {
  if (following_ == following) return;
  following_ = following;
  if (following) {
    playing_ = false;
    tieToHead();
    Q_EMIT cursorChanged();
  }
  Q_EMIT stateChanged();
}

void Hub::selectRank(int rank) {
  if (rank < 0 || rank >= trace_->worldSize()) return;
  selected_rank_ = rank;
  scene_.reset();
  Q_EMIT cursorChanged();
}

std::int64_t Hub::instant() const {
  if (empty()) return 0;
  const auto [begin, end] = stageWindow(*trace_, index_, place(), selected_rank_);
  return begin + static_cast<std::int64_t>(phase_ * static_cast<double>(end - begin));
}

/// The last ring step that a rank had begun at an instant; ranks are never more than a few apart.
Place Hub::placeAt(int rank, std::int64_t instant) const {
  const auto& moments = trace_->moments();
  const int reach = trace_->worldSize() + 1;
  int at = std::min(moment_ + reach, static_cast<int>(moments.size()) - 1);
  for (; at > std::max(0, moment_ - reach); --at) {
    const auto [begin, end] =
        stageWindow(*trace_, index_, moments[static_cast<std::size_t>(at)], rank);
    if (end > 0 && begin <= instant) break;
  }
  return moments[static_cast<std::size_t>(at)];
}

std::vector<Place> Hub::placesOfRanks() const {
  std::vector<Place> places(static_cast<std::size_t>(trace_->worldSize()), place());
  if (axis_ == Axis::kTime)
    for (std::size_t rank = 0; rank < places.size(); ++rank)
      if (static_cast<int>(rank) != selected_rank_)
        places[rank] = placeAt(static_cast<int>(rank), instant());
  return places;
}

const RingScene& Hub::scene() const {
  if (!scene_)
    scene_ = empty() ? RingScene() : ringScene(*trace_, index_, placesOfRanks(), selected_rank_);
  return *scene_;
}

double Hub::phaseOf(const RankScene& rank) const {
  if (axis_ == Axis::kRingStep || rank.end_ns <= rank.begin_ns) return phase_;
  return std::clamp(static_cast<double>(instant() - rank.begin_ns) /
                        static_cast<double>(rank.end_ns - rank.begin_ns),
                    0.0, 1.0);
}

void Hub::setDiagnosis(traces::Diagnosis diagnosis) {
  diagnosis_ = std::move(diagnosis);
  Q_EMIT stateChanged();
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/session/navigator.h"

#include <algorithm>

#include "traces/format/trace/capture_advice.h"
#include "viz/scene/groups.h"

namespace ringscope::viz {

Navigator::Navigator(const Session& session, QObject* parent) : QObject(parent), session_(session) {
  connect(&session, &Session::dataChanged, this, &Navigator::followData);
}

void Navigator::followData() {
  Cursor cursor = cursor_;
  if (recording_ != session_.recording()) {
    recording_ = session_.recording();
    next_divergence_ = 0;
    cursor = Cursor();
    cursor.tensor = cursor_.tensor;
    cursor.axis = cursor_.axis;
  }
  setCursor(cursor);
}

int Navigator::moment() const {
  const auto& moments = session_.trace().moments();
  const auto at = std::lower_bound(moments.begin(), moments.end(), cursor_.place, traces::before);
  return std::clamp(static_cast<int>(at - moments.begin()), 0,
                    std::max(0, static_cast<int>(moments.size()) - 1));
}

std::int64_t Navigator::instant() const {
  return instantAt(*session_.ring(cursor_), cursor_.phase);
}

Cursor Navigator::settled(Cursor cursor) const {
  cursor.sealed = cursor_.sealed;
  cursor.phase = std::clamp(cursor.phase, 0.0, 1.0);
  const auto groups = listGroups(session_.trace());
  cursor.group = std::clamp(cursor.group, 0, std::max(0, static_cast<int>(groups.size()) - 1));
  if (!groups.empty()) {
    const auto& ranks = groups[static_cast<std::size_t>(cursor.group)].ranks;
    if (std::ranges::find(ranks, cursor.rank) == ranks.end()) cursor.rank = ranks.front();
  }
  const auto& moments = session_.trace().moments();
  if (moments.empty()) return cursor;
  const auto at = std::lower_bound(moments.begin(), moments.end(), cursor.place, traces::before);
  cursor.place = at == moments.end() ? moments.back() : *at;
  return cursor;
}

void Navigator::setCursor(Cursor cursor) {
  cursor = settled(std::move(cursor));
  if (cursor == cursor_) return;
  cursor_ = std::move(cursor);
  Q_EMIT cursorChanged();
}

void Navigator::setMoment(int moment, double phase) {
  const auto& moments = session_.trace().moments();
  if (moments.empty()) return;
  Cursor cursor = cursor_;
  cursor.place = moments[static_cast<std::size_t>(
      std::clamp(moment, 0, static_cast<int>(moments.size()) - 1))];
  cursor.phase = phase;
  setCursor(cursor);
}

void Navigator::setPlace(const Place& place) {
  Cursor cursor = cursor_;
  cursor.place = place;
  cursor.phase = 0;
  setCursor(cursor);
}

void Navigator::selectRank(WorldRank rank) {
  const auto ranks = groupRanks(session_.trace(), cursor_.group);
  if (std::ranges::find(ranks, rank) == ranks.end()) return;
  Cursor cursor = cursor_;
  if (cursor.rank != rank) cursor.token = TokenIndex::none();  // another rank does not own it
  cursor.rank = rank;
  setCursor(cursor);
}

void Navigator::setGroup(int group) {
  const auto from = groupRanks(session_.trace(), cursor_.group),
             to = groupRanks(session_.trace(), group);
  if (to.empty()) return;
  const auto seat = std::ranges::find(from, cursor_.rank) - from.begin();
  Cursor cursor = cursor_;
  cursor.token = TokenIndex::none();
  cursor.group = group;
  cursor.rank = to[std::min(static_cast<std::size_t>(seat), to.size() - 1)];
  setCursor(cursor);
}

void Navigator::selectTensor(const QString& name) {
  Cursor cursor = cursor_;
  cursor.tensor = name.toStdString();
  setCursor(cursor);
}

void Navigator::setAxis(Axis axis) {
  Cursor cursor = cursor_;
  cursor.axis = axis;
  setCursor(cursor);
}

void Navigator::setSealed(bool sealed) {
  if (sealed == cursor_.sealed) return;
  cursor_.sealed = sealed;
  Q_EMIT cursorChanged();
}

void Navigator::goTo(const Cursor& cursor) {
  Q_EMIT taken();
  setCursor(cursor);
}

void Navigator::goToInstant(std::int64_t ns) {
  Cursor cursor = cursor_;
  cursor.phase = 0;
  const auto& moments = session_.trace().moments();
  if (!moments.empty()) cursor.place = moments.front();
  // A rank visits them in their order; to look at each would decode the whole recording.
  auto at = std::partition_point(moments.begin(), moments.end(), [&](const Place& place) {
    const StageWindow window = stageWindow(session_.trace(), place, cursor.rank);
    return !window.recorded() || window.begin_ns <= ns;
  });
  while (at != moments.begin()) {
    const StageWindow window = stageWindow(session_.trace(), *--at, cursor.rank);
    if (!window.recorded() || window.begin_ns > ns) continue;
    cursor.place = *at;
    cursor.phase = window.fraction(ns);
    break;
  }
  goTo(cursor);
}

void Navigator::move(int moments) {
  Q_EMIT taken();
  // One step back inside a step goes to its beginning first, as players do.
  const bool inside = moments < 0 && cursor_.phase > 0.05;
  setMoment(moment() + moments + (inside ? 1 : 0), 0);
}

void Navigator::moveTrainStep(int steps) {
  Cursor cursor = cursor_;
  cursor.place.train_step += steps;
  cursor.phase = 0;
  goTo(cursor);
}

void Navigator::nextDivergence() {
  if (cursor_.sealed) return Q_EMIT told("Divergences: " + QString(kSealedWords));
  const auto found = traces::divergences(session_.trace());
  if (found.empty())
    return Q_EMIT told(QString::fromStdString(
        session_.trace().diffs().empty() ? "not compared with unsharded attention; " +
                                               traces::verdictAdvice(session_.trace(), "is")
                                         : "✓ nothing that was compared diverges"));
  Q_EMIT leaving(cursor_.place);
  const std::size_t at = next_divergence_++ % found.size();
  const auto* diff = found[at];
  Cursor cursor = cursor_;
  cursor.tensor = diff->tensor;
  cursor.place = diff->place;
  if (cursor.place.layer.isNone()) cursor.place.layer = Layer::of(0);  // loss belongs to no layer
  cursor.place.stage = RingStep::of(0);
  cursor.phase = 0;
  goTo(cursor);
  Q_EMIT told(QString("▲ divergence %1 of %2: %3, %4, step %5: %6 its limit")
                  .arg(at + 1)
                  .arg(found.size())
                  .arg(QString::fromStdString(traces::describe(*diff)),
                       diff->isolated ? "isolated" : "end to end")
                  .arg(diff->place.train_step)
                  .arg(QString::fromStdString(traces::describeMultiple(diff->ratio))));
}

void Navigator::lead(const QString& view, const Cursor& cursor) {
  Q_EMIT leaving(cursor_.place);
  goTo(cursor);
  Q_EMIT viewRequested(view);
}

}  // namespace ringscope::viz

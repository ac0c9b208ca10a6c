// SPDX-License-Identifier: Apache-2.0
// The places and training steps of all events.
#include <algorithm>
#include <iterator>

#include "traces/format/trace/event_store.h"

namespace ringscope::traces {

/// Returns each place once, in the order in which a rank visits them. `moments` restricts them to
/// places with a ring step.
std::vector<Place> EventStore::placesFor(const OfRank& of_rank, bool moments) const {
  std::vector<Place> places;
  const auto take = [&](const Place& place) {
    if ((place.stage.exists() || !moments) && (places.empty() || !(places.back() == place)))
      places.push_back(place);
  };
  for (const EventRun& run : of_rank.runs) {
    for (const PlaceCount& at : run.holds.places) take(at.place);
    if (run.own)
      for (const std::uint32_t i : run.own->byPlace()) take(run.own->events[i].place);
  }
  if (!std::is_sorted(places.begin(), places.end(), before))
    std::sort(places.begin(), places.end(), before);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

namespace {

std::vector<Place> both(const std::vector<Place>& a, const std::vector<Place>& b) {
  std::vector<Place> all;
  all.reserve(std::max(a.size(), b.size()));
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all), before);
  return all;
}

}  // namespace

std::vector<Place> EventStore::places(std::span<const WorldRank> ranks) const {
  const MutexLock lock(mutex_);
  std::vector<Place> all;
  for (const WorldRank rank : ranks)
    if (has(rank)) all = both(all, placesFor(ranks_[rank.index()], false));
  return all;
}

std::vector<std::int32_t> EventStore::trainingSteps() const {
  const MutexLock lock(mutex_);
  std::vector<std::int32_t> steps;
  const auto take = [&](std::int32_t step) {
    if (steps.empty() || steps.back() != step) steps.push_back(step);
  };
  for (const OfRank& of_rank : ranks_)
    for (const EventRun& run : of_rank.runs) {
      for (const PlaceCount& at : run.holds.places) take(at.place.train_step);
      if (run.own)
        for (const Event& event : run.own->events) take(event.place.train_step);
    }
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

std::vector<Place> EventStore::moments() const {
  const MutexLock lock(mutex_);
  std::vector<Place> moments;
  for (const OfRank& of_rank : ranks_) moments = both(moments, placesFor(of_rank, true));
  return moments;
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
// The comparison of summaries with the chunks that they describe, and the places of all events.
#include <algorithm>
#include <iterator>
#include <new>

#include "traces/format/trace/admission.h"
#include "traces/format/trace/event_store.h"

namespace ringscope::traces {

/// Returns the events of a chunk as recorded. If they cannot be read, returns none and notes a
/// problem.
std::vector<Event> EventStore::read(std::uint64_t seq) {
  const std::string which = "chunk " + std::to_string(seq) + " (events): ";
  try {
    auto events = decodeRows<Event>(source_->read(seq));
    for (const Event& event : events) admit(event);
    return events;
  } catch (const Error& error) {
    problems_.push_back(error.what());
  } catch (const std::bad_alloc&) {
    problems_.push_back(which + "there is not enough memory for it");
  } catch (const std::exception& error) {
    problems_.push_back(which + error.what());
  }
  return {};
}

/// Replaces the claims about a chunk by its content when it is decoded for the first time.
void EventStore::learn(std::uint64_t seq, const DecodedChunk& decoded, bool readable) {
  Expected& expected = expected_[seq];
  expected.known = true;
  bool as_claimed = true;
  static const RunEvents kNone;
  for (const auto& [rank, run] : expected.runs) {
    const auto held = decoded.of(rank);
    as_claimed &= correct(rank, run, held ? *held : kNone);
  }
  for (const auto& [rank, held] : decoded.ranks) {  // ranks that the summary does not name
    if (std::ranges::find(expected.runs, rank, [](const auto& run) { return run.first; }) !=
        expected.runs.end())
      continue;
    makeRoomFor(rank);
    expected.runs.emplace_back(rank, at(rank).runs.size());
    at(rank).runs.push_back({seq, {rank, 0, 0, 0, 0, {}}, nullptr});
    as_claimed &= correct(rank, at(rank).runs.size() - 1, *held);
  }
  moments_are_right_ = moments_are_right_ && as_claimed;
  if (!as_claimed && readable)
    problems_.push_back("chunk " + std::to_string(seq) +
                        " (events) holds other events than its summary says; what it holds is "
                        "shown");
}

/// Replaces the claim about a rank's events in a chunk by the real content. Returns whether the
/// claim was right.
bool EventStore::correct(WorldRank rank, std::size_t at_run, const RunEvents& held) {
  OfRank& of_rank = at(rank);
  EventRun& run = of_rank.runs[at_run];
  EventSummary real = summarizeEvents(held.events);
  if (real.ranks.size() == 1 && real.ranks.front() == run.holds) return true;
  of_rank.count = of_rank.count - run.holds.events + held.events.size();
  run.holds = real.ranks.empty() ? RankSummary{rank, 0, 0, 0, 0, {}} : real.ranks.front();
  updateTotals(rank);
  return false;
}

/// Recomputes the rank's largest end without wrong claims.
void EventStore::updateTotals(WorldRank rank) {
  OfRank& of_rank = at(rank);
  of_rank.end_ns = 0;
  for (const EventRun& run : of_rank.runs) {
    if (!run.own) of_rank.end_ns = std::max(of_rank.end_ns, run.holds.end_ns);
    if (run.own)
      for (const Event& event : run.own->events)
        of_rank.end_ns = std::max(of_rank.end_ns, event.end_ns);
  }
  for (const auto& [number, late] : times_)
    if (number.first == rank.value()) of_rank.end_ns = std::max(of_rank.end_ns, late.times.end_ns);
}

void EventStore::decodeAll() {
  std::vector<std::uint64_t> unknown;
  for (const auto& [seq, expected] : expected_)
    if (!expected.known) unknown.push_back(seq);
  for (const std::uint64_t seq : unknown) decode(seq);
  const auto lost = std::erase_if(times_, [](const auto& late) { return !late.second.found; });
  for (std::size_t i = 0; i < lost; ++i)
    problems_.push_back("times were recorded of an event that is not there");
  if (!moments_are_right_) updateMoments();
}

void EventStore::addMoments(std::span<const Event> added) {
  std::vector<Place> places;
  for (const Event& event : added)
    if (event.place.stage.exists() && (places.empty() || !(places.back() == event.place)))
      places.push_back(event.place);
  if (places.empty()) return;
  std::ranges::sort(places, before);
  // New places are nearly always the last ones or close to them, since ranks are never far apart.
  const auto from = std::lower_bound(moments_.begin(), moments_.end(), places.front(), before);
  std::vector<Place> merged;
  std::set_union(from, moments_.end(), places.begin(), places.end(), std::back_inserter(merged),
                 before);
  merged.erase(std::unique(merged.begin(), merged.end()), merged.end());
  moments_.erase(from, moments_.end());
  moments_.insert(moments_.end(), merged.begin(), merged.end());
}

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
  std::vector<Place> all;
  for (const WorldRank rank : ranks)
    if (has(rank)) all = both(all, placesFor(ranks_[rank.index()], false));
  return all;
}

std::vector<std::int32_t> EventStore::trainingSteps() const {
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

void EventStore::updateMoments() {
  moments_.clear();
  for (const OfRank& of_rank : ranks_) moments_ = both(moments_, placesFor(of_rank, true));
  moments_are_right_ = true;
}

}  // namespace ringscope::traces

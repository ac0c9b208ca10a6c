// SPDX-License-Identifier: Apache-2.0
#include "traces/query/event_store.h"

#include <algorithm>
#include <iterator>
#include <new>

#include "traces/query/admission.h"

namespace ringscope::traces {
namespace {

/// A run that grows is searched again and again.
constexpr std::size_t kRunEvents = 1 << 14;

}  // namespace

void EventStore::makeRoomFor(WorldRank rank) {
  if (rank.value() >= ranks()) ranks_.resize(rank.index() + 1);
}

void EventStore::add(std::span<const Event> all) {
  const auto other =
      std::ranges::find_if(all, [&](const Event& e) { return e.rank != all.front().rank; });
  if (other == all.end()) {
    if (!all.empty()) append(all.front().rank, all);
  } else {  // of each rank at once, however they alternate
    std::map<WorldRank, std::vector<Event>> by_rank;
    for (const Event& event : all) by_rank[event.rank].push_back(event);
    for (const auto& [rank, events] : by_rank) append(rank, events);
  }
  addMoments(all);
}

void EventStore::append(WorldRank rank, std::span<const Event> added) {
  makeRoomFor(rank);
  auto& runs = events(rank).runs_;
  if (runs.empty() || runs.back().chunk != 0 || !runs.back().decoded ||
      runs.back().events.size() >= kRunEvents)
    runs.emplace_back();
  EventRun& run = runs.back();
  const std::size_t first = run.events.size();
  run.events.insert(run.events.end(), added.begin(), added.end());
  settle(rank, runs.size() - 1, first);
}

/// Makes the decoded events of a run from `first` on known to the rank.
void EventStore::settle(WorldRank rank, std::size_t at, std::size_t first) {
  RankEvents& of_rank = events(rank);
  EventRun& run = of_rank.runs_[at];
  run.index(first);
  of_rank.count_ += run.events.size() - first;
  for (std::size_t i = first; i < run.events.size(); ++i) {
    const Event& event = run.events[i];
    of_rank.end_ns_ = std::max(of_rank.end_ns_, event.end_ns);
    if (event.pending == 0) continue;
    const Pending number{rank.value(), event.pending};
    if (const auto known = times_.extract(number))
      apply(known.mapped(), rank, {at, i});
    else
      pending_[number] = {at, i};
  }
}

void EventStore::apply(const TimesRecord& times, WorldRank rank, At at) {
  RankEvents& of_rank = events(rank);
  Event& event = of_rank.runs_[at.run].events[at.event];
  event.begin_ns = times.begin_ns;
  event.start_ns = times.start_ns;
  event.end_ns = times.end_ns;
  event.pending = 0;
  of_rank.end_ns_ = std::max(of_rank.end_ns_, event.end_ns);
}

void EventStore::add(const TimesRecord& times) {
  const Pending number{times.rank.value(), times.pending};
  if (const auto found = pending_.extract(number)) return apply(times, times.rank, found.mapped());
  const bool may_come =
      has(times.rank) && std::ranges::any_of(events(times.rank).runs_, [](auto& r) {
        return !r.decoded && r.claimed.pending > 0;
      });
  if (!may_come) {
    problems_.push_back("times were recorded of an event that is not there");
    return;
  }
  times_[number] = times;
  auto& end_ns = events(times.rank).end_ns_;
  end_ns = std::max(end_ns, times.end_ns);
}

void EventStore::expect(const ChunkInfo& chunk) {
  auto& runs_of_chunk = expected_[chunk.seq];
  for (const RankSummary& summary : chunk.summary->ranks) {
    makeRoomFor(summary.rank);
    RankEvents& of_rank = events(summary.rank);
    runs_of_chunk.emplace_back(summary.rank, of_rank.runs_.size());
    of_rank.runs_.push_back({chunk.seq, false, summary, {}, {}});
    of_rank.count_ += summary.events;
    of_rank.end_ns_ = std::max(of_rank.end_ns_, summary.end_ns);
  }
}

std::size_t EventStore::count(WorldRank rank) const {
  return has(rank) ? ranks_[rank.index()].count_ : 0;
}

std::size_t EventStore::count() const {
  std::size_t count = 0;
  for (const RankEvents& of_rank : ranks_) count += of_rank.count_;
  return count;
}

std::int64_t EventStore::endNs() const {
  std::int64_t end_ns = 0;
  for (const RankEvents& of_rank : ranks_) end_ns = std::max(end_ns, of_rank.end_ns_);
  return end_ns;
}

const RankEvents& EventStore::of(WorldRank rank) {
  static const RankEvents kNone;
  if (!has(rank)) return kNone;
  // By index, since a chunk may hold more than it says.
  for (std::size_t i = 0; i < events(rank).runs_.size(); ++i)
    if (const EventRun& run = events(rank).runs_[i]; !run.decoded) decode(run.chunk);
  return events(rank);
}

std::vector<Event> EventStore::between(const Place& first, const Place& last, WorldRank rank) {
  std::vector<Event> found;
  if (!has(rank)) return found;
  for (std::size_t i = 0; i < events(rank).runs_.size(); ++i) {
    const EventRun& run = events(rank).runs_[i];
    if (!run.mayHold(first, last)) continue;
    if (!run.decoded) decode(run.chunk);
    run.copyTo(found, first, last);
  }
  return found;
}

std::vector<Event> EventStore::between(std::int64_t begin_ns, std::int64_t end_ns, WorldRank rank) {
  std::vector<Event> found;
  if (!has(rank)) return found;
  for (std::size_t i = 0; i < events(rank).runs_.size(); ++i) {
    const EventRun& run = events(rank).runs_[i];
    if (!run.mayTouch(begin_ns, end_ns)) continue;
    if (!run.decoded) decode(run.chunk);
    std::ranges::copy_if(run.events, std::back_inserter(found), [&](const Event& event) {
      return event.begin_ns < end_ns && event.end_ns >= begin_ns;
    });
  }
  return found;
}

/// The events of a chunk; none, and a problem, when they cannot be read.
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

void EventStore::decode(std::uint64_t seq) {
  const auto runs = std::move(expected_.extract(seq).mapped());
  const std::size_t problems_before = problems_.size();
  std::map<WorldRank::Value, std::vector<Event>> by_rank;
  for (const Event& event : read(seq)) by_rank[event.rank.value()].push_back(event);
  bool as_claimed = true;
  for (const auto& [rank, run] : runs) {
    auto of_rank = by_rank.extract(rank.value());
    as_claimed &= fill(rank, run, of_rank ? std::move(of_rank.mapped()) : std::vector<Event>());
  }
  for (auto& [value, held] : by_rank) {  // of ranks that the summary does not name
    const WorldRank rank = WorldRank::of(value);
    makeRoomFor(rank);
    events(rank).runs_.push_back({seq, false, {}, {}, {}});
    as_claimed &= fill(rank, events(rank).runs_.size() - 1, std::move(held));
  }
  moments_are_right_ = moments_are_right_ && as_claimed;
  if (!as_claimed && problems_.size() == problems_before)
    problems_.push_back("chunk " + std::to_string(seq) +
                        " (events) holds other events than its summary says; what it holds is "
                        "shown");
}

/// Puts the events of a decoded chunk where they were expected. Whether they are as claimed.
bool EventStore::fill(WorldRank rank, std::size_t at, std::vector<Event> held) {
  RankEvents& of_rank = events(rank);
  EventRun& run = of_rank.runs_[at];
  const RankSummary claimed = std::exchange(run.claimed, {});
  const EventSummary summary = summarizeEvents(held);
  const bool as_claimed = summary.ranks.size() == 1 && summary.ranks.front() == claimed;
  of_rank.count_ -= claimed.events;
  run.decoded = true;
  run.events = std::move(held);
  settle(rank, at, 0);
  if (!as_claimed) updateTotals(of_rank);
  return as_claimed;
}

/// The largest end without what was wrongly claimed.
void EventStore::updateTotals(RankEvents& of_rank) {
  of_rank.end_ns_ = 0;
  for (const EventRun& run : of_rank.runs_) {
    if (!run.decoded) of_rank.end_ns_ = std::max(of_rank.end_ns_, run.claimed.end_ns);
    for (const Event& event : run.events) of_rank.end_ns_ = std::max(of_rank.end_ns_, event.end_ns);
  }
}

void EventStore::decodeAll() {
  while (!expected_.empty()) decode(expected_.begin()->first);
  for (std::size_t lost = times_.size(); lost > 0; --lost)
    problems_.push_back("times were recorded of an event that is not there");
  times_.clear();
  if (!moments_are_right_) updateMoments();
}

void EventStore::addMoments(std::span<const Event> added) {
  std::vector<Place> places;
  for (const Event& event : added)
    if (event.place.stage.exists() && (places.empty() || !(places.back() == event.place)))
      places.push_back(event.place);
  if (places.empty()) return;
  std::ranges::sort(places, before);
  // Nearly always the newest ones or the last few, since ranks are never far apart.
  const auto from = std::lower_bound(moments_.begin(), moments_.end(), places.front(), before);
  std::vector<Place> merged;
  std::set_union(from, moments_.end(), places.begin(), places.end(), std::back_inserter(merged),
                 before);
  merged.erase(std::unique(merged.begin(), merged.end()), merged.end());
  moments_.erase(from, moments_.end());
  moments_.insert(moments_.end(), merged.begin(), merged.end());
}

/// Each once, in the order of visiting.
std::vector<Place> EventStore::momentsOf(const RankEvents& of_rank) const {
  std::vector<Place> places;
  const auto take = [&](const Place& place) {
    if (place.stage.exists() && (places.empty() || !(places.back() == place)))
      places.push_back(place);
  };
  for (const EventRun& run : of_rank.runs_) {
    for (const PlaceCount& at : run.claimed.places) take(at.place);
    for (const std::uint32_t i : run.by_place) take(run.events[i].place);
  }
  if (!std::is_sorted(places.begin(), places.end(), before))
    std::sort(places.begin(), places.end(), before);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

void EventStore::updateMoments() {
  std::vector<Place> all;
  for (const RankEvents& of_rank : ranks_) {
    const std::vector<Place> places = momentsOf(of_rank);
    std::vector<Place> both;
    both.reserve(std::max(all.size(), places.size()));
    std::set_union(all.begin(), all.end(), places.begin(), places.end(), std::back_inserter(both),
                   before);
    all = std::move(both);
  }
  moments_ = std::move(all);
  moments_are_right_ = true;
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/event_store.h"

#include <algorithm>
#include <iterator>
#include <new>

#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

/// The largest number of events of a run that grows, because such a run is searched repeatedly.
constexpr std::size_t kRunEvents = 1 << 14;
/// The number of decoded events that are kept. More are kept when chunks are larger, because a ring
/// step needs one chunk of each rank.
constexpr std::size_t kKeptEvents = 1 << 17;

std::size_t eventsToKeep(std::size_t ranks, const DecodedChunk& chunk) {
  std::size_t most = 0;
  for (const auto& [rank, held] : chunk.ranks) most = std::max(most, held->events.size());
  return std::max(kKeptEvents, ranks * most * 5 / 4);
}

void setTimes(Event& event, const TimesRecord& times) {
  event.begin_ns = times.begin_ns;
  event.start_ns = times.start_ns;
  event.end_ns = times.end_ns;
  event.pending = 0;
}

}  // namespace

void EventStore::makeRoomFor(WorldRank rank) {
  if (rank.value() >= ranks()) ranks_.resize(rank.index() + 1);
}

void EventStore::add(std::span<const Event> all) {
  const auto other =
      std::ranges::find_if(all, [&](const Event& e) { return e.rank != all.front().rank; });
  if (other == all.end()) {
    if (!all.empty()) append(all.front().rank, all);
  } else {  // several ranks: the events of each rank at once, however they alternate
    std::map<WorldRank, std::vector<Event>> by_rank;
    for (const Event& event : all) by_rank[event.rank].push_back(event);
    for (const auto& [rank, events] : by_rank) append(rank, events);
  }
  addMoments(all);
}

void EventStore::append(WorldRank rank, std::span<const Event> added) {
  makeRoomFor(rank);
  auto& runs = at(rank).runs;
  if (runs.empty() || !runs.back().own || runs.back().size() >= kRunEvents)
    runs.push_back({0, {}, std::make_shared<RunEvents>()});
  auto& events = runs.back().own->events;
  const std::size_t first = events.size();
  events.insert(events.end(), added.begin(), added.end());
  settle(rank, runs.size() - 1, first);
}

/// Accounts for the events of a run without a chunk, from `first` on: the rank's count, end and
/// pending times.
void EventStore::settle(WorldRank rank, std::size_t run, std::size_t first) {
  OfRank& of_rank = at(rank);
  auto& events = of_rank.runs[run].own->events;
  of_rank.count += events.size() - first;
  for (std::size_t i = first; i < events.size(); ++i) {
    if (events[i].pending != 0 && !applyLateTimes(rank, events[i]))
      pending_[{rank.value(), events[i].pending}] = {run, i};
    of_rank.end_ns = std::max(of_rank.end_ns, events[i].end_ns);
  }
}

/// Gives an event the times that were recorded for it. Returns false when there are none.
bool EventStore::applyLateTimes(WorldRank rank, Event& event) {
  const auto known = times_.find({rank.value(), event.pending});
  if (known == times_.end()) return false;
  known->second.found = true;
  setTimes(event, known->second.times);
  return true;
}

void EventStore::add(const TimesRecord& times) {
  const Pending number{times.rank.value(), times.pending};
  const auto waiting = pending_.extract(number);
  const bool may_come =
      waiting || (has(times.rank) && std::ranges::any_of(at(times.rank).runs, [](const auto& run) {
                    return !run.own && run.holds.pending > 0;
                  }));
  if (!may_come) {
    problems_.push_back("times were recorded of an event that is not there");
    return;
  }
  OfRank& of_rank = at(times.rank);
  of_rank.end_ns = std::max(of_rank.end_ns, times.end_ns);
  if (waiting) {
    const At& where = waiting.mapped();
    return setTimes(of_rank.runs[where.run].own->events[where.event], times);
  }
  times_[number] = {times, false};
  kept_.clear();  // the decoded events lack these times
  passed_.clear();
}

void EventStore::expect(const ChunkInfo& chunk) {
  Expected& expected = expected_[chunk.seq];
  for (const RankSummary& summary : chunk.summary->ranks) {
    makeRoomFor(summary.rank);
    OfRank& of_rank = at(summary.rank);
    expected.runs.emplace_back(summary.rank, of_rank.runs.size());
    of_rank.runs.push_back({chunk.seq, summary, nullptr});
    of_rank.count += summary.events;
    of_rank.end_ns = std::max(of_rank.end_ns, summary.end_ns);
  }
}

std::size_t EventStore::countRuns(WorldRank rank) const {
  return has(rank) ? ranks_[rank.index()].runs.size() : 0;
}

std::size_t EventStore::count(WorldRank rank) const {
  return has(rank) ? ranks_[rank.index()].count : 0;
}

std::size_t EventStore::count() const {
  std::size_t count = 0;
  for (const OfRank& of_rank : ranks_) count += of_rank.count;
  return count;
}

std::int64_t EventStore::endNs() const {
  std::int64_t end_ns = 0;
  for (const OfRank& of_rank : ranks_) end_ns = std::max(end_ns, of_rank.end_ns);
  return end_ns;
}

RankEvents EventStore::of(WorldRank rank) {
  // Uses an index because decoding a chunk can add runs.
  for (std::size_t i = 0; i < countRuns(rank); ++i)
    if (const EventRun& run = at(rank).runs[i]; !run.own && !expected_[run.chunk].known)
      goThrough(rank, i);
  return {this, rank};
}

/// Returns the events of a run, and keeps them until the events of another rank are iterated.
std::shared_ptr<const RunEvents> EventStore::goThrough(WorldRank rank, std::size_t run) {
  if (gone_through_ != rank) {
    gone_through_ = rank;
    passed_.clear();
  }
  if (run >= passed_.size()) passed_.resize(run + 1);
  if (!passed_[run]) passed_[run] = eventsFor(rank, at(rank).runs[run]);
  return passed_[run];
}

/// Returns the events of a run. Decodes their chunk if necessary.
std::shared_ptr<const RunEvents> EventStore::eventsFor(WorldRank rank, const EventRun& run) {
  static const auto kNone = std::make_shared<const RunEvents>();
  if (run.own) return run.own;
  if (run.holds.events == 0) return kNone;
  const std::uint64_t chunk = run.chunk;
  const KeptChunks::Decoded kept = kept_.find(chunk);
  auto events = (kept ? kept : decode(chunk))->of(rank);
  return events ? events : kNone;
}

std::vector<Event> EventStore::between(const Place& first, const Place& last, WorldRank rank) {
  std::vector<Event> found;
  for (std::size_t i = 0; i < countRuns(rank); ++i)
    if (const EventRun& run = at(rank).runs[i]; run.mayHold(first, last))
      eventsFor(rank, run)->copyTo(found, first, last);
  return found;
}

std::vector<Event> EventStore::between(std::int64_t begin_ns, std::int64_t end_ns, WorldRank rank) {
  std::vector<Event> found;
  for (std::size_t i = 0; i < countRuns(rank); ++i) {
    const EventRun& run = at(rank).runs[i];
    if (!run.mayTouch(begin_ns, end_ns)) continue;
    std::ranges::copy_if(
        eventsFor(rank, run)->events, std::back_inserter(found),
        [&](const Event& event) { return event.begin_ns < end_ns && event.end_ns >= begin_ns; });
  }
  return found;
}

/// Decodes a chunk and puts it into the cache.
KeptChunks::Decoded EventStore::decode(std::uint64_t seq) {
  auto decoded = std::make_shared<DecodedChunk>();
  const std::size_t problems_before = problems_.size();
  std::vector<Event> all = read(seq);
  const bool of_one =
      std::ranges::all_of(all, [&](const Event& event) { return event.rank == all.front().rank; });
  if (of_one && !all.empty()) {
    decoded->ranks.emplace_back(all.front().rank, std::make_shared<RunEvents>());
    decoded->ranks.front().second->events = std::move(all);
  } else {
    std::map<WorldRank, std::shared_ptr<RunEvents>> by_rank;
    for (const Event& event : all) {
      auto& of_rank = by_rank[event.rank];
      if (!of_rank) of_rank = std::make_shared<RunEvents>();
      of_rank->events.push_back(event);
    }
    decoded->ranks.assign(by_rank.begin(), by_rank.end());
  }
  if (!expected_[seq].known) learn(seq, *decoded, problems_.size() == problems_before);
  for (auto& [rank, held] : decoded->ranks)
    for (Event& event : held->events)
      if (event.pending != 0) applyLateTimes(rank, event);
  kept_.keep(seq, decoded, eventsToKeep(ranks_.size(), *decoded));
  return decoded;
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/event_store.h"

#include <algorithm>
#include <utility>

namespace ringscope::traces {
namespace {

/// The largest number of events of a run that grows, because such a run is searched repeatedly.
constexpr std::size_t kRunEvents = 1 << 14;
void setTimes(Event& event, const TimesRecord& times) {
  event.begin_ns = times.begin_ns;
  event.start_ns = times.start_ns;
  event.end_ns = times.end_ns;
  event.pending = 0;
}

}  // namespace

void EventStore::makeRoomFor(WorldRank rank) {
  const MutexLock lock(mutex_);
  makeRoom(rank);
}

void EventStore::makeRoom(WorldRank rank) {
  if (has(rank)) return;
  ranks_.resize(rank.index() + 1);
  rank_count_ = static_cast<int>(ranks_.size());
}

void EventStore::add(std::span<const Event> all) {
  const MutexLock lock(mutex_);
  const auto other =
      std::ranges::find_if(all, [&](const Event& e) { return e.rank != all.front().rank; });
  if (other == all.end()) {
    if (!all.empty()) append(all.front().rank, all);
    return;
  }
  std::map<WorldRank, std::vector<Event>> by_rank;  // of each rank at once, however they alternate
  for (const Event& event : all) by_rank[event.rank].push_back(event);
  for (const auto& [rank, events] : by_rank) append(rank, events);
}

void EventStore::append(WorldRank rank, std::span<const Event> added) {
  makeRoom(rank);
  auto& runs = at(rank).runs;
  if (runs.empty() || !runs.back().own || runs.back().size() >= kRunEvents)
    runs.push_back({0, {}, std::make_shared<RunEvents>()});
  auto& events = changeable(runs.back());
  const std::size_t first = events.size();
  events.insert(events.end(), added.begin(), added.end());
  settle(rank, runs.size() - 1, first);
}

/// Returns the events of a run without a chunk to change them. A snapshot keeps them as they were.
std::vector<Event>& EventStore::changeable(EventRun& run) {
  if (std::exchange(run.lent, false)) run.own = std::make_shared<RunEvents>(run.own->events);
  return run.own->events;
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
  const MutexLock lock(mutex_);
  const Pending number{times.rank.value(), times.pending};
  const auto waiting = pending_.extract(number);
  const bool may_come =
      waiting || (has(times.rank) && std::ranges::any_of(at(times.rank).runs, [](const auto& run) {
                    return !run.own && run.holds.pending > 0;
                  }));
  if (!may_come) {
    problems_->add("times were recorded of an event that is not there");
    return;
  }
  OfRank& of_rank = at(times.rank);
  of_rank.end_ns = std::max(of_rank.end_ns, times.end_ns);
  if (waiting) {
    const At& where = waiting.mapped();
    return setTimes(changeable(of_rank.runs[where.run])[where.event], times);
  }
  times_[number] = {times, false};
  kept_.clear();  // the decoded events lack these times
  passed_ = nullptr;
}

void EventStore::expect(const ChunkInfo& chunk) {
  const MutexLock lock(mutex_);
  Expected& expected = expected_[chunk.seq];
  for (const RankSummary& summary : chunk.summary->ranks) {
    makeRoom(summary.rank);
    OfRank& of_rank = at(summary.rank);
    expected.runs.emplace_back(summary.rank, of_rank.runs.size());
    of_rank.runs.push_back({chunk.seq, summary, nullptr});
    of_rank.count += summary.events;
    of_rank.end_ns = std::max(of_rank.end_ns, summary.end_ns);
  }
}

std::shared_ptr<EventStore> EventStore::snapshot(std::shared_ptr<ProblemList> problems) {
  auto copy = std::make_shared<EventStore>(source_, std::move(problems));
  const MutexLock lock(mutex_);
  for (OfRank& of_rank : ranks_)
    for (EventRun& run : of_rank.runs) run.lent = run.own != nullptr;
  const MutexLock of_copy(copy->mutex_);
  copy->ranks_ = ranks_;
  copy->rank_count_ = ranks();
  copy->expected_ = expected_;
  copy->pending_ = pending_;
  copy->times_ = times_;
  copy->corrections_ = corrections_;
  return copy;
}

std::size_t EventStore::count(WorldRank rank) const {
  const MutexLock lock(mutex_);
  return has(rank) ? ranks_[rank.index()].count : 0;
}

std::size_t EventStore::count() const {
  const MutexLock lock(mutex_);
  std::size_t count = 0;
  for (const OfRank& of_rank : ranks_) count += of_rank.count;
  return count;
}

std::int64_t EventStore::endNs() const {
  const MutexLock lock(mutex_);
  std::int64_t end_ns = 0;
  for (const OfRank& of_rank : ranks_) end_ns = std::max(end_ns, of_rank.end_ns);
  return end_ns;
}

std::uint64_t EventStore::corrections() const {
  const MutexLock lock(mutex_);
  return corrections_;
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
// The decoding of chunks, and the comparison of summaries with the chunks that they describe.
#include <algorithm>
#include <iterator>
#include <new>

#include "traces/format/core/to_index.h"
#include "traces/format/trace/admission.h"
#include "traces/format/trace/event_store.h"

namespace ringscope::traces {
namespace {

/// The number of decoded events that are kept. More are kept when chunks are larger, because a ring
/// step needs one chunk of each rank.
constexpr std::size_t kKeptEvents = 1 << 17;

std::size_t eventsToKeep(std::size_t ranks, const DecodedChunk& chunk) {
  std::size_t most = 0;
  for (const auto& [rank, held] : chunk.ranks) most = std::max(most, held->events.size());
  return std::max(kKeptEvents, ranks * most * 5 / 4);
}

std::shared_ptr<DecodedChunk> splitByRank(std::vector<Event> all) {
  auto decoded = std::make_shared<DecodedChunk>();
  if (all.empty()) return decoded;
  const WorldRank first = all.front().rank;
  if (std::ranges::all_of(all, [&](const Event& event) { return event.rank == first; })) {
    decoded->ranks.emplace_back(first, std::make_shared<RunEvents>(std::move(all)));
    return decoded;
  }
  std::map<WorldRank, std::shared_ptr<RunEvents>> by_rank;
  for (const Event& event : all) {
    auto& of_rank = by_rank[event.rank];
    if (!of_rank) of_rank = std::make_shared<RunEvents>();
    of_rank->events.push_back(event);
  }
  decoded->ranks.assign(by_rank.begin(), by_rank.end());
  return decoded;
}

std::shared_ptr<const RunEvents> orNone(const std::shared_ptr<const RunEvents>& events) {
  static const auto kNone = std::make_shared<const RunEvents>();
  return events ? events : kNone;
}

}  // namespace

RankEvents EventStore::rankEvents(WorldRank rank) {
  std::shared_ptr<PassedRuns> passed;
  {
    const MutexLock lock(mutex_);
    if (!passed_ || passed_->rank != rank) {
      passed_ = std::make_shared<PassedRuns>();
      passed_->rank = rank;
    }
    passed = passed_;
  }
  const auto unknown = [this](const EventRun& run) RINGSCOPE_REQUIRES(mutex_) {
    return !run.own && !expected_.at(run.chunk).known;
  };
  for (std::size_t run = 0;; ++run) {
    {
      const MutexLock lock(mutex_);
      const std::size_t runs = has(rank) ? at(rank).runs.size() : 0;
      while (run < runs && !unknown(at(rank).runs[run])) ++run;
      if (run == runs) return {this, passed, runs, runs == 0 ? 0 : at(rank).count};
    }
    goThrough(*passed, run);
  }
}

/// Returns the events of a run, and keeps them in `passed`.
std::shared_ptr<const RunEvents> EventStore::goThrough(PassedRuns& passed, std::size_t run) {
  {
    const MutexLock lock(mutex_);
    if (run < passed.runs.size() && passed.runs[run]) return passed.runs[run];
  }
  auto events = eventsFor(passed.rank, run, true);
  const MutexLock lock(mutex_);
  if (run >= passed.runs.size()) passed.runs.resize(run + 1);
  if (!passed.runs[run]) passed.runs[run] = std::move(events);
  return passed.runs[run];
}

/// Returns the events of a run. Decodes their chunk if necessary, and then keeps it if `keep` is
/// set.
std::shared_ptr<const RunEvents> EventStore::eventsFor(WorldRank rank, std::size_t run, bool keep) {
  std::uint64_t chunk = 0;
  {
    const MutexLock lock(mutex_);
    const EventRun& wanted = at(rank).runs[run];
    if (wanted.own) return wanted.own;
    if (wanted.holds.events == 0) return orNone(nullptr);
    chunk = wanted.chunk;
    if (const auto kept = kept_.find(chunk)) return orNone(kept->of(rank));
  }
  return orNone(decode(chunk, keep)->of(rank));
}

/// Returns the events of the first run from `run` on for which `may` holds, and moves `run` behind
/// it; null when there is none.
template <typename May>
std::shared_ptr<const RunEvents> EventStore::next(WorldRank rank, std::size_t& run, const May& may,
                                                  bool keep) {
  {
    const MutexLock lock(mutex_);
    const std::size_t runs = has(rank) ? at(rank).runs.size() : 0;
    while (run < runs && !may(at(rank).runs[run])) ++run;
    if (run >= runs) return nullptr;
  }
  return eventsFor(rank, run++, keep);
}

std::vector<Event> EventStore::between(const Place& first, const Place& last, WorldRank rank) {
  const auto may = [&](const EventRun& run) { return run.mayHold(first, last); };
  std::vector<Event> found;
  std::size_t run = 0;
  while (const auto events = next(rank, run, may, true)) events->copyTo(found, first, last);
  return found;
}

std::vector<Event> EventStore::between(std::int64_t begin_ns, std::int64_t end_ns, WorldRank rank) {
  const auto may = [&](const EventRun& run) { return run.mayTouch(begin_ns, end_ns); };
  std::vector<Event> found;
  std::size_t run = 0;
  while (const auto events = next(rank, run, may, true))
    std::ranges::copy_if(events->events, std::back_inserter(found), [&](const Event& event) {
      return event.begin_ns < end_ns && event.end_ns >= begin_ns;
    });
  return found;
}

void EventStore::visit(const std::function<bool(std::span<const Event>)>& take) {
  const auto may = [](const EventRun& run) { return run.size() > 0; };
  std::vector<std::size_t> runs;   // number of runs that were visited, by rank
  for (bool more = true; more;) {  // a decoded chunk can add runs
    more = false;
    for (int rank = 0; rank < ranks(); ++rank) {
      runs.resize(static_cast<std::size_t>(ranks()));
      while (const auto events = next(WorldRank::of(rank), runs[toIndex(rank)], may, false)) {
        more = true;
        if (!take(events->events)) return;
      }
    }
  }
}

/// Decodes a chunk, and puts it into the cache if `keep` is set.
KeptChunks::Decoded EventStore::decode(std::uint64_t seq, bool keep) {
  Content content = read(seq);
  EventSummary real;
  if (!isKnown(seq)) real = summarizeEvents(content.events);
  const auto decoded = splitByRank(std::move(content.events));
  std::vector<std::pair<WorldRank, Event*>> pending;
  for (auto& [rank, held] : decoded->ranks)
    for (Event& event : held->events)
      if (event.pending != 0) pending.emplace_back(rank, &event);

  const MutexLock lock(mutex_);
  if (auto kept = kept_.find(seq)) return kept;  // another thread was faster
  Expected& expected = expected_.at(seq);
  if (!content.problem.empty() && !std::exchange(expected.damaged, true))
    problems_->add(content.problem);
  if (!expected.known) learn(seq, real, content.problem.empty());
  for (const auto& [rank, event] : pending) applyLateTimes(rank, *event);
  if (keep) kept_.keep(seq, decoded, eventsToKeep(ranks_.size(), *decoded));
  return decoded;
}

bool EventStore::isKnown(std::uint64_t seq) const {
  const MutexLock lock(mutex_);
  return expected_.at(seq).known;
}

/// Returns the events of a chunk as recorded, or why they cannot be read.
EventStore::Content EventStore::read(std::uint64_t seq) const {
  const std::string which = "chunk " + std::to_string(seq) + " (events): ";
  try {
    Content content{decodeRows<Event>(source_->read(seq)), {}};
    for (const Event& event : content.events) admit(event);
    return content;
  } catch (const Error& error) {
    return {{}, error.what()};
  } catch (const std::bad_alloc&) {
    return {{}, which + "there is not enough memory for it"};
  } catch (const std::exception& error) {
    return {{}, which + error.what()};
  }
}

/// Replaces the claims about a chunk by its content when it is decoded for the first time.
void EventStore::learn(std::uint64_t seq, const EventSummary& real, bool readable) {
  Expected& expected = expected_[seq];
  expected.known = true;
  bool as_claimed = true;
  for (const auto& [rank, run] : expected.runs) {
    const auto held = std::ranges::find(real.ranks, rank, &RankSummary::rank);
    as_claimed &=
        correct(rank, run, held != real.ranks.end() ? *held : RankSummary{rank, 0, 0, 0, 0, {}});
  }
  for (const RankSummary& held : real.ranks) {  // ranks that the summary does not name
    if (std::ranges::find(expected.runs, held.rank, [](const auto& run) { return run.first; }) !=
        expected.runs.end())
      continue;
    makeRoom(held.rank);
    auto& runs = at(held.rank).runs;
    expected.runs.emplace_back(held.rank, runs.size());
    runs.push_back({seq, {held.rank, 0, 0, 0, 0, {}}, nullptr});
    as_claimed &= correct(held.rank, runs.size() - 1, held);
  }
  if (as_claimed) return;
  ++corrections_;
  if (readable)
    problems_->add("chunk " + std::to_string(seq) +
                   " (events) holds other events than its summary says; what it holds is shown");
}

/// Replaces the claim about a rank's events in a chunk by the real content. Returns whether the
/// claim was right.
bool EventStore::correct(WorldRank rank, std::size_t at_run, const RankSummary& real) {
  OfRank& of_rank = at(rank);
  EventRun& run = of_rank.runs[at_run];
  if (real == run.holds) return true;
  of_rank.count = of_rank.count - run.holds.events + real.events;
  run.holds = real;
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
  {
    const MutexLock lock(mutex_);
    for (const auto& [seq, expected] : expected_)
      if (!expected.known) unknown.push_back(seq);
  }
  for (const std::uint64_t seq : unknown)
    if (!isKnown(seq)) decode(seq, true);
  const MutexLock lock(mutex_);
  const auto lost = std::erase_if(times_, [](const auto& late) { return !late.second.found; });
  for (std::size_t i = 0; i < lost; ++i)
    problems_->add("times were recorded of an event that is not there");
}

}  // namespace ringscope::traces

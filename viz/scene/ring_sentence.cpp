// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/ring_sentence.h"

#include <algorithm>

#include "traces/format/trace/trace.h"
#include "viz/scene/meant.h"
#include "viz/scene/units.h"
#include "viz/scene/why_empty.h"

namespace ringscope::viz {
namespace {

using traces::Event;
using traces::EventKind;
using traces::ScheduleRecord;
using traces::StageRecord;

/// The keys of one block that a rank attends, and how.
struct AttendedKeys {
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;  ///< of local rows, apart, ascending
  bool in_part = false;  ///< some of its queries do not see all of them

  std::int64_t count() const {
    std::int64_t keys = 0;
    for (const auto& [begin, end] : runs) keys += end - begin;
    return keys;
  }
};

/// Puts one rank's ring step into words.
class Sentence {
 public:
  Sentence(const traces::Trace& trace, const GroupPass& pass, const RankScene& rank)
      : trace_(trace),
        pass_(pass),
        rank_(rank),
        schedule_(pass.schedule(rank.rank)),
        stages_(trace.stagesAt(rank.place, rank.rank)),
        meant_(trace, rank.place.train_step, pass.ranks(), rank.place.layer) {}

  std::string words() const {
    const std::string who = "rank " + toString(rank_.rank);
    if (rank_.queries == 0) return who + idle();
    if (rank_.place.direction == traces::Direction::kBackward)
      return who + " adds to dK and dV of " + blocks() + "; dQ of " + queries() + " stays" +
             posting() + unplanned();
    return who + " attends " + queries() + " to " +
           (rank_.sources.size() > 1 ? gathered() : keysFor(rank_.sources.front())) + lse() +
           posting() + unplanned();
  }

 private:
  std::string unplanned() const { return stages_.empty() ? "; " + noSchedule(trace_) : ""; }

  /// Said of a hop whose send and receive were each posted by itself, since its order can deadlock.
  std::string posting() const {
    const auto events = trace_.eventsAt(rank_.place, rank_.rank);
    for (const Event& sent : events) {
      if (sent.kind != EventKind::kSend || sent.exchange == 0) continue;
      for (const Event& received : events)
        if (received.kind == EventKind::kReceive && received.payload == sent.payload &&
            received.exchange > 0 && received.exchange != sent.exchange)
          return sent.exchange < received.exchange ? "; it posts its send, then its receive"
                                                   : "; it posts its receive, then its send";
    }
    return "";
  }

  bool sharesHeads() const { return schedule_ && schedule_->ulysses.size() > 1; }

  /// "its 16 queries", "the 64 queries of ranks 0–3, for heads 2–3,"
  std::string queries() const {
    const std::string count =
        std::to_string(rank_.queries) + (rank_.queries == 1 ? " query" : " queries");
    if (!sharesHeads()) return "its " + count;
    const std::int64_t first = schedule_->q_head_begin, last = schedule_->q_head_end - 1;
    return "the " + count + " of ranks " + listedRanks(schedule_->ulysses) + ", for " +
           (last > first ? "heads " + std::to_string(first) + "–" + std::to_string(last)
                         : "head " + std::to_string(first)) +
           ",";
  }

  /// "block 1", "blocks 0, 2"
  std::string blocks() const {
    return (rank_.sources.size() > 1 ? "blocks " : "block ") + listedRanks(rank_.sources);
  }

  std::string gathered() const {
    const std::string all =
        stages_.empty() ? "" : " of the " + std::to_string(stages_.size()) + " gathered";
    return blocks() + all;
  }

  AttendedKeys attendedKeys(WorldRank source) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> runs;
    AttendedKeys keys;
    double pairs = 0;
    for (const Event& event : trace_.eventsAt(rank_.place, rank_.rank)) {
      if (event.kind != EventKind::kAttend || event.source_rank != source) continue;
      runs.emplace_back(event.k_begin, event.k_end);
      const StageRecord* planned = pass_.stage(rank_.rank, rank_.place.stage, source);
      pairs += bandFor(event, planned).pairs();
      keys.in_part = keys.in_part || (!planned && event.mask == traces::PieceMask::kTileMask);
    }
    std::ranges::sort(runs);
    for (const auto& run : runs) {
      if (keys.runs.empty() || keys.runs.back().second < run.first)
        keys.runs.push_back(run);
      else
        keys.runs.back().second = std::max(keys.runs.back().second, run.second);
    }
    const auto all = static_cast<double>(rank_.queries) * static_cast<double>(keys.count());
    keys.in_part = keys.in_part || pairs < all;
    return keys;
  }

  /// "its own block 2, causally", "the first half of block 1", "24 of the 32 keys of block 3"
  std::string keysFor(WorldRank source) const {
    const AttendedKeys keys = attendedKeys(source);
    const auto& rows = pass_.rows(source);
    const std::int64_t all = rows.empty() ? 0 : rows.back().end, count = keys.count();
    std::string block = "block " + toString(source);
    if (source == rank_.rank) block = "its own " + block;
    if (all > 0 && count < all) {
      const bool halves = keys.runs.size() == 1 && 2 * count == all;
      block = halves && keys.runs[0].first == 0 ? "the first half of " + block
              : halves && keys.runs[0].second == all
                  ? "the second half of " + block
                  : std::to_string(count) + " of the " + std::to_string(all) + " keys of " + block;
    }
    return keys.in_part ? block + meant_.manner() : block;
  }

  std::string lse() const {
    if (!rank_.lse_after.known()) return "";
    const std::string after = describeDecimals(rank_.lse_after.mean, 2);
    if (rank_.lseRises())
      return "; its log‑sum‑exp rises from " + describeDecimals(rank_.lse_before.mean, 2) + " to " +
             after;
    return "; its log‑sum‑exp is " + after +
           (rank_.lse_before.known() ? ", now over more rows" : "");
  }

  bool sends(WorldRank source) const {
    return std::ranges::any_of(trace_.eventsAt(rank_.place, rank_.rank), [&](const Event& event) {
      return event.kind == EventKind::kSend && event.payload == traces::Payload::kKv &&
             event.source_rank == source;
    });
  }

  /// After "rank 2": what becomes of the block that it holds, and why it attends none of it.
  std::string idle() const {
    if (stages_.empty())
      return " is in attention whose blocks are not recorded; " + noSchedule(trace_);
    if (stages_.size() > 1)
      return " attends none of the " + std::to_string(stages_.size()) + " gathered blocks; " +
             emptyWords(whyAllEmpty(stages_)).clause;
    const StageRecord& stage = *stages_.front();
    const std::string block = "block " + toString(stage.source_rank);
    return (sends(stage.source_rank) ? " passes " + block + " on"
                                     : " holds " + block + " and attends none of it") +
           "; " + emptyWords(stage.why_empty).clause;
  }

  const traces::Trace& trace_;
  const GroupPass& pass_;
  const RankScene& rank_;
  const ScheduleRecord* schedule_;
  std::vector<const StageRecord*> stages_;
  Meant meant_;
};

}  // namespace

std::string ringSentence(const traces::Trace& trace, const GroupPass& pass, const RankScene& rank) {
  return Sentence(trace, pass, rank).words();
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/coverage/coverage_scene.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "traces/format/core/prose.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/chunks.h"
#include "viz/scene/groups.h"
#include "viz/scene/meant.h"
#include "viz/scene/stage_window.h"
#include "viz/scene/why_empty.h"

namespace ringscope::viz {
namespace {

/// More cannot be seen.
constexpr std::size_t kMostCells = std::size_t{1} << 21;

/// Fills a scene: cells and work done from the events up to the viewed ring step, work in total
/// from the schedules, waits of the whole pass.
class PassFiller {
 public:
  PassFiller(const traces::Trace& trace, const GroupPass& pass, const Place& viewed,
             CoverageScene& scene)
      : trace_(trace), pass_(pass), viewed_(viewed), scene_(scene) {
    const std::size_t ranks = scene.ranks.size();
    scene.chunks = static_cast<int>(pass.chunks().size());
    scene.heads_shared_by = headsSharedBy(pass);
    for (const auto& chunk : pass.chunks())
      scene.last_tokens.push_back(TokenIndex::of(chunk.global(chunk.count - 1)));
    const std::size_t cells = pass.chunks().size() * pass.chunks().size();
    scene.cells.resize(cells);
    scene.painters.resize(cells * shares());
    attended_.resize(cells * shares());
    scene.work_done.assign(ranks, 0);
    pieces_.assign(ranks, 0);
    scene.wait_ns.assign(ranks, 0);
    for (const WorldRank rank : scene.ranks)
      scene.work_total.push_back(pairsPerHead(*pass.schedule(rank)));
    const Meant meant(trace, viewed.train_step, scene.ranks, viewed.layer);
    scene.wanted_known = meant.recorded();
    scene.mask_advice = traces::maskAdvice(trace);
    const auto* intent = scene.ranks.empty()
                             ? nullptr
                             : trace.intent(viewed.train_step, scene.ranks.front(), viewed.layer);
    if (intent && intent->mask == traces::MaskKind::kCausal) scene.contiguous = contiguous();
    for (std::size_t q = 0; q < pass.chunks().size(); ++q)
      for (std::size_t k = 0; k < pass.chunks().size(); ++k)
        scene.cells[q * pass.chunks().size() + k].wanted =
            meant.pairs(pass.chunks()[q], pass.chunks()[k]);
  }

  void take(RingStep ring_step, std::size_t seat) {
    Place step = viewed_;
    step.stage = ring_step;
    const WorldRank rank = scene_.ranks[seat];
    for (const traces::Event& event : trace_.eventsAt(step, rank)) {
      if (event.kind == traces::EventKind::kWait) scene_.wait_ns[seat] += event.duration();
      if (event.kind != traces::EventKind::kAttend) continue;
      ++pieces_[seat];
      if (ring_step <= viewed_.stage) attend(event, seat);
    }
  }

  /// Reports whether the recording holds the whole pass: it has an end, or each rank has attended
  /// all its planned pieces or attended in a later pass. Other events of a later pass do not count,
  /// because they may be recorded earlier.
  bool isOver() const {
    if (trace_.end()) return true;
    Place last = viewed_;
    last.stage = RingStep::of(std::numeric_limits<RingStep::Value>::max());
    const auto& moments = trace_.moments();
    const auto after = std::upper_bound(moments.begin(), moments.end(), last, traces::before);
    for (std::size_t seat = 0; seat < scene_.ranks.size(); ++seat) {
      std::size_t planned = 0;
      for (const auto& stage : pass_.schedule(scene_.ranks[seat])->stages)
        planned += stage.pieces.size();
      if (pieces_[seat] < planned &&
          (after == moments.end() || !attendsWithin(*after, moments.back(), scene_.ranks[seat])))
        return false;
    }
    return true;
  }

  bool attendsWithin(const Place& first, const Place& last, WorldRank rank) const {
    return std::ranges::any_of(trace_.eventsAt(first, last, rank), [](const traces::Event& event) {
      return event.kind == traces::EventKind::kAttend;
    });
  }

  void finish() {
    for (std::size_t cell = 0; cell < scene_.cells.size(); ++cell) {
      const auto first = attended_.begin() + static_cast<std::ptrdiff_t>(cell * shares());
      const auto [least, most] =
          std::minmax_element(first, first + static_cast<std::ptrdiff_t>(shares()));
      PairCell& of = scene_.cells[cell];
      of.attended = of.wanted && *most > *of.wanted ? *most : *least;
    }
  }

 private:
  /// Under a causal mask the last of N ranks has the most to attend: N − 1 blocks of c keys before
  /// its own, and half of that. N / (2N − 1) where c is large.
  double contiguous() const {
    double tokens = 0;
    for (const auto& chunk : pass_.chunks()) tokens += static_cast<double>(chunk.count);
    const double rings = static_cast<double>(scene_.ranks.size()) / scene_.heads_shared_by;
    return (tokens + 1) / ((2 * rings - 1) * tokens / rings + 1);
  }

  std::size_t shares() const { return static_cast<std::size_t>(scene_.heads_shared_by); }

  /// Which share of the heads a rank attends.
  std::size_t shareOf(WorldRank rank) const {
    const auto& sharers = pass_.schedule(rank)->ulysses;
    const auto at = static_cast<std::size_t>(std::ranges::find(sharers, rank) - sharers.begin());
    return at < shares() ? at : 0;
  }

  void attend(const traces::Event& event, std::size_t seat) {
    const WorldRank rank = scene_.ranks[seat];
    const Band band = bandFor(event, pass_.stage(rank, event.place.stage, event.source_rank));
    const std::size_t share = shareOf(rank);
    const double sharers = headSharers(*pass_.schedule(rank));
    for (const LocalRun& q : pass_.rows(rank)) {
      if (q.begin >= band.q_end || q.end <= band.q_begin) continue;
      for (const LocalRun& k : pass_.rows(event.source_rank)) {
        const Band part = band.within(q.begin, q.end, k.begin, k.end);
        if (part.empty()) continue;
        const double pairs = part.pairs();
        const auto cell = scene_.indexOf(q.chunk, k.chunk);
        scene_.work_done[seat] += pairs / sharers;
        attended_[cell * shares() + share] += pairs;
        scene_.painters[cell * shares() + share] = rank;
        PairCell& of = scene_.cells[cell];
        of.ring_step = event.place.stage;
        of.diagonal = of.diagonal || part.cutAbove();
        of.now = event.place.stage == viewed_.stage;
      }
    }
  }

  const traces::Trace& trace_;
  const GroupPass& pass_;
  Place viewed_;
  CoverageScene& scene_;
  std::vector<double> attended_;     // pairs, by cell and share of the heads
  std::vector<std::size_t> pieces_;  // that are recorded of the pass, by seat
};

void countFaults(CoverageScene& scene) {
  for (const PairCell& cell : scene.cells) {
    if (!cell.wanted) continue;
    scene.unwanted += cell.masked() && cell.attended > 0;
    scene.doubled += !cell.masked() && cell.attended > *cell.wanted;
    if (!scene.complete) continue;
    scene.missing += !cell.masked() && cell.attended == 0;
    scene.partly += cell.attended > 0 && cell.attended < *cell.wanted;
  }
}

std::string pairCount(double pairs) {
  return traces::describeCount(std::llround(pairs));
}

}  // namespace

std::vector<WorldRank> CoverageScene::pairPainters(int query, int key) const {
  const auto first =
      painters.begin() + static_cast<std::ptrdiff_t>(indexOf(query, key)) * heads_shared_by;
  return {first, first + heads_shared_by};
}

bool CoverageScene::isFault(const PairCell& cell) const {
  if (!cell.wanted || sealed) return false;
  return cell.attended > *cell.wanted || (complete && cell.attended < *cell.wanted);
}

double CoverageScene::efficiency() const {
  return traces::balanceFrom(work_total);
}

WorldRank CoverageScene::longestWaiting() const {
  const auto longest = std::max_element(wait_ns.begin(), wait_ns.end());
  return longest == wait_ns.end() || *longest == 0
             ? WorldRank::none()
             : ranks[static_cast<std::size_t>(longest - wait_ns.begin())];
}

CoverageScene makeCoverageScene(const traces::Trace& trace, const Cursor& cursor) {
  CoverageScene scene;
  scene.train_step = cursor.place.train_step;
  scene.selected = cursor.rank;
  scene.ranks = groupRanks(trace, cursor.group);
  const GroupPass pass(trace, cursor.place, scene.ranks);
  if (!pass.recorded()) {
    scene.note = "Not shown: " + noSchedule(trace) + ".";
    return scene;
  }
  const std::size_t chunks = pass.chunks().size();
  const auto shares = static_cast<std::size_t>(headsSharedBy(pass));
  if (pass.tooMany() || chunks * chunks * shares > kMostCells) {
    scene.note = std::to_string(chunks) + " chunks are too many for this view.";
    return scene;
  }
  PassFiller filler(trace, pass, cursor.place, scene);
  const int ring_steps = countRingSteps(trace, cursor.place, scene.ranks);
  for (RingStep step = RingStep::of(0); step.value() < ring_steps; step = step.next())
    for (std::size_t seat = 0; seat < scene.ranks.size(); ++seat) filler.take(step, seat);
  filler.finish();
  scene.complete = cursor.place.stage.value() + 1 == ring_steps && filler.isOver();
  scene.sealed = cursor.sealed;
  if (!scene.sealed) countFaults(scene);
  return scene;
}

std::string describe(const CoverageScene& scene) {
  if (!scene.note.empty()) return scene.note;
  if (scene.sealed)
    return (scene.complete ? "the pass is complete; " : "filling; ") + std::string(kSealedWords);
  std::string faults;
  auto say = [&](int count, const char* what) {
    if (count) faults += (faults.empty() ? "" : ", ") + std::to_string(count) + what;
  };
  say(scene.doubled, " attended more than once");
  say(scene.missing, " never attended");
  say(scene.partly, " attended in part");
  say(scene.unwanted, " outside the mask");
  if (!faults.empty()) return "▲ " + faults;
  if (!scene.wanted_known)
    return "the mask that was meant is not recorded, so nothing says what should be attended; " +
           scene.mask_advice;
  return scene.complete ? "✓ every pair of the mask attended exactly once"
                        : "filling; nothing twice so far";
}

std::string describePair(const CoverageScene& scene, int query_chunk, int key_chunk) {
  const PairCell& cell = scene.at(query_chunk, key_chunk);
  const std::string pair = "query chunk " + std::to_string(query_chunk) + " × key chunk " +
                           std::to_string(key_chunk) + ": ";
  std::vector<WorldRank> painters = scene.pairPainters(query_chunk, key_chunk);
  std::erase(painters, WorldRank::none());
  if (painters.empty()) {
    if (cell.masked()) return pair + "masked";
    return pair + (scene.complete ? "not attended" : "not attended yet");
  }
  std::string words = pair + "attended by " + (painters.size() > 1 ? "ranks " : "rank ") +
                      listedRanks(painters) + (painters.size() > 1 ? ", each for its heads," : "") +
                      " at ring step " + toString(cell.ring_step);
  if (cell.wanted && cell.attended != *cell.wanted)
    words +=
        ": " + pairCount(cell.attended) + " pairs where the mask has " + pairCount(*cell.wanted);
  return words;
}

}  // namespace ringscope::viz

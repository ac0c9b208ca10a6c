// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/coverage_scene.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "viz/scene/documents.h"

namespace ringscope::viz {
namespace {

double work(const CoverageCell& cell) {
  return cell.diagonal ? 0.5 : 1.0;
}

RingScene sceneAt(const traces::Trace& trace, const traces::MomentIndex& index,
                  const Place& place) {
  return ringScene(trace, index,
                   std::vector<Place>(static_cast<std::size_t>(trace.worldSize()), place), 0);
}

/// What the mask of a pass wants, by chunks.
class WantedPairs {
 public:
  WantedPairs(const traces::Trace& trace, int train_step)
      : full_(trace.run().value("mask", "causal") == "full"),
        window_(trace.run().value("window", std::int64_t{0})),
        ranges_(chunkRanges(trace, train_step)),
        documents_(attendedDocuments(trace, train_step)) {}

  Wanted operator()(int query, int key) const {
    if (full_ || ranges_.empty()) return Wanted::kYes;
    if (key > query) return Wanted::kNo;
    if (!documents_) return Wanted::kUnknown;
    if (query >= static_cast<int>(ranges_.size())) return Wanted::kYes;
    const bool some = std::ranges::any_of(*documents_, [&](const traces::TokenRun& document) {
      const auto q = within(query, document), k = within(key, document);
      if (q.begin >= q.end || k.begin >= k.end) return false;
      return window_ == 0 || query == key || q.begin - (k.end - 1) < window_;
    });
    return some ? Wanted::kYes : Wanted::kNo;
  }

 private:
  traces::TokenRun within(int chunk, const traces::TokenRun& document) const {
    const traces::TokenRun& range = ranges_[static_cast<std::size_t>(chunk)];
    return {std::max(range.begin, document.begin), std::min(range.end, document.end)};
  }

  bool full_;
  std::int64_t window_;
  std::vector<traces::TokenRun> ranges_;
  std::optional<std::vector<traces::TokenRun>> documents_;
};

/// How often each pair was attended by each rank that shares the heads: they attend the same pairs,
/// each for its own heads.
struct HeadCounts {
  int members = 1, chunks = 0;
  std::vector<int> attended;

  int& of(const CoverageCell& cell, int rank) {
    const int pair = cell.query_chunk * chunks + cell.key_chunk;
    return attended[static_cast<std::size_t>(pair * members + rank % members)];
  }
  /// The most of any head when that is more than once, otherwise the least.
  int together(std::size_t pair) const {
    const auto first = attended.begin() + static_cast<std::ptrdiff_t>(pair) * members;
    const auto [least, most] = std::minmax_element(first, first + members);
    return *most > 1 ? *most : *least;
  }
};

void countFaults(CoverageScene& scene) {
  for (const PairCell& cell : scene.cells) {
    scene.doubled += cell.attended > 1;
    scene.unwanted += cell.attended > 0 && cell.wanted == Wanted::kNo;
    scene.unknown += scene.complete && cell.attended == 0 && cell.wanted == Wanted::kUnknown;
    scene.missing += scene.complete && cell.attended == 0 && cell.wanted == Wanted::kYes;
  }
}

}  // namespace

double CoverageScene::efficiency() const {
  const double largest =
      work_total.empty() ? 0 : *std::max_element(work_total.begin(), work_total.end());
  if (largest <= 0) return 1;
  return std::accumulate(work_total.begin(), work_total.end(), 0.0) /
         static_cast<double>(work_total.size()) / largest;
}

int CoverageScene::longestWaiting() const {
  const auto longest = std::max_element(wait_ns.begin(), wait_ns.end());
  return longest == wait_ns.end() || *longest == 0 ? -1
                                                   : static_cast<int>(longest - wait_ns.begin());
}

CoverageScene coverageScene(const traces::Trace& trace, const traces::MomentIndex& index,
                            const Place& place) {
  CoverageScene scene;
  HeadCounts counts{headsSharedBy(trace), 0, {}};
  Place step = place;
  int ring_steps = 0;
  for (step.stage = 0; step.stage <= place.stage; ++step.stage) {
    const RingScene ring = sceneAt(trace, index, step);
    if (scene.cells.empty()) {
      scene.chunks = ring.chunk_count;
      scene.cells.resize(static_cast<std::size_t>(scene.chunks * scene.chunks));
      scene.work_done.assign(ring.ranks.size(), 0);
      counts.chunks = scene.chunks;
      counts.attended.assign(scene.cells.size() * static_cast<std::size_t>(counts.members), 0);
      const WantedPairs wanted(trace, place.train_step);
      for (int q = 0; q < scene.chunks; ++q)
        for (int k = 0; k < scene.chunks; ++k)
          scene.cells[static_cast<std::size_t>(q * scene.chunks + k)].wanted = wanted(q, k);
    }
    for (const RankScene& rank : ring.ranks)
      for (const CoverageCell& cell : rank.cells) {
        if (!cell.now) continue;
        PairCell& pair =
            scene.cells[static_cast<std::size_t>(cell.query_chunk * scene.chunks + cell.key_chunk)];
        ++counts.of(cell, rank.rank);
        pair.rank = rank.rank;
        pair.ring_step = step.stage;
        pair.diagonal = cell.diagonal;
        pair.now = step.stage == place.stage;
        scene.work_done[static_cast<std::size_t>(rank.rank)] += work(cell);
      }
    ring_steps = ring.ring_steps;
    scene.complete = step.stage + 1 == ring_steps;
  }
  for (std::size_t cell = 0; cell < scene.cells.size(); ++cell)
    scene.cells[cell].attended = counts.together(cell);
  scene.wait_ns.assign(scene.work_done.size(), 0);
  for (step.stage = 0; step.stage < ring_steps; ++step.stage)
    for (std::size_t rank = 0; rank < scene.wait_ns.size(); ++rank)
      for (const auto i : index.eventsOf(step, static_cast<int>(rank)))
        if (const auto& event = trace.events(static_cast<int>(rank))[i];
            event.kind == traces::EventKind::kWait)
          scene.wait_ns[rank] += event.duration();
  Place last = place;
  last.stage = static_cast<std::int16_t>(std::max(0, ring_steps - 1));
  for (const RankScene& rank : sceneAt(trace, index, last).ranks) {
    scene.work_total.push_back(0);
    for (const CoverageCell& cell : rank.cells) scene.work_total.back() += work(cell);
  }
  countFaults(scene);
  return scene;
}

}  // namespace ringscope::viz

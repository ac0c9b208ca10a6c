// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/ring_scene.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ringscope::viz {

using traces::Event;
using traces::EventKind;
using traces::Payload;
using traces::PieceMask;
using traces::Trace;

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

const traces::ShardRecord* anyShard(const Trace& trace, int train_step, int rank) {
  for (const char* buffer : {"input_ids", "q"})
    if (const auto* shard = trace.findShard(buffer, train_step, rank)) return shard;
  return nullptr;
}

/// The runs of a rank's shard, each with its first local row.
struct LocalRun {
  std::int64_t begin = 0, end = 0;
  int chunk = 0;
  bool interleaved = false;  ///< every cp-th token: earlier and later than every other chunk
};

bool isStriped(const Trace& trace) {
  return trace.run().value("balance", "") == "striped";
}

void appendRuns(std::vector<LocalRun>& runs, const Trace& trace, int train_step, int rank,
                const std::vector<traces::TokenRun>& chunks) {
  const auto* shard = anyShard(trace, train_step, rank);
  if (!shard) return;
  std::int64_t at = runs.empty() ? 0 : runs.back().end;
  if (isStriped(trace)) {
    const auto count = static_cast<std::int64_t>(shard->global_from_local.size());
    runs.push_back({at, at + count, rank, true});
    return;
  }
  for (const auto& run : shard->global_from_local) {
    const std::int64_t size = run.end - run.begin;
    if (size <= 0) continue;
    const auto chunk =
        std::lower_bound(chunks.begin(), chunks.end(), run.begin,
                         [](const auto& c, std::int64_t begin) { return c.begin < begin; }) -
        chunks.begin();
    runs.push_back({at, at + size, static_cast<int>(chunk), false});
    at += size;
  }
}

/// What a rank attends with, or what comes from it: its own shard, or that of its whole group when
/// the sequence has been turned into heads.
std::vector<LocalRun> localRuns(const Trace& trace, int train_step, int rank,
                                const std::vector<traces::TokenRun>& chunks) {
  std::vector<LocalRun> runs;
  const int group = headsSharedBy(trace), first = rank / group * group;
  for (int r = first; r < first + group; ++r) appendRuns(runs, trace, train_step, r, chunks);
  const bool interleaved = !runs.empty() && runs.front().interleaved;
  if (group == 1 || interleaved) return runs;
  // A group joins its runs in the order of the sequence.
  std::sort(runs.begin(), runs.end(), [](auto& a, auto& b) { return a.chunk < b.chunk; });
  std::int64_t at = 0;
  for (LocalRun& run : runs) {
    run = {at, at + run.end - run.begin, run.chunk, false};
    at = run.end;
  }
  return runs;
}

bool overlaps(const LocalRun& run, std::int64_t begin, std::int64_t end) {
  return run.begin < end && begin < run.end;
}

void addCells(std::vector<CoverageCell>& cells, const Event& attend,
              const std::vector<LocalRun>& queries, const std::vector<LocalRun>& keys, bool now) {
  for (const LocalRun& q : queries) {
    if (!overlaps(q, attend.q_begin, attend.q_end)) continue;
    for (const LocalRun& k : keys) {
      if (!overlaps(k, attend.k_begin, attend.k_end)) continue;
      const bool causal = attend.mask == PieceMask::kCausal;
      if (causal && k.chunk > q.chunk && !k.interleaved) continue;
      const CoverageCell cell{q.chunk, k.chunk, attend.source_rank,
                              causal && (k.chunk == q.chunk || k.interleaved), now};
      // A window cuts a pair of chunks into several pieces; together they are one cell.
      const bool known = std::any_of(cells.begin(), cells.end(), [&](const CoverageCell& c) {
        return c.query_chunk == cell.query_chunk && c.key_chunk == cell.key_chunk && c.now == now &&
               c.source_rank == cell.source_rank;
      });
      if (!known) cells.push_back(cell);
    }
  }
}

std::string describeCells(const std::vector<CoverageCell>& cells) {
  std::vector<int> queries, keys;
  for (const auto& cell : cells) {
    if (!cell.now) continue;
    queries.push_back(cell.query_chunk);
    keys.push_back(cell.key_chunk);
  }
  return queries.empty() ? "nothing to attend here"
                         : "queries " + listedChunks(queries) + " × keys " + listedChunks(keys);
}

double meanLse(const Trace& trace, Place place, int rank) {
  if (place.stage < 0) return kUnknown;
  const auto* lse = trace.findTensor("running_lse", place, rank);
  return lse ? lse->stats.mean : kUnknown;
}

/// From the first to the last moment of a rank's own work in a ring step; hops of dK, dV go on
/// after.
struct Window {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;

  void include(const Event& event) {
    const bool trailing = event.payload == Payload::kDkv || event.kind == EventKind::kPause;
    if (trailing) return;
    begin = std::min(begin, event.begin_ns);
    end = std::max(end, event.end_ns);
  }
  double fraction(std::int64_t ns) const {
    return end <= begin
               ? 0.0
               : std::clamp(static_cast<double>(ns - begin) / static_cast<double>(end - begin), 0.0,
                            1.0);
  }
};

Window windowOf(const Trace& trace, const traces::MomentIndex& index, const Place& place,
                int rank) {
  Window window;
  for (const auto i : index.eventsOf(place, rank)) window.include(trace.events(rank)[i]);
  return window;
}

MovingPacket packetOf(const Event& send, const Window& window) {
  MovingPacket packet;
  packet.payload = send.payload;
  packet.from = send.rank;
  packet.to = send.peer;
  packet.source_rank = send.source_rank;
  packet.bytes = send.bytes;
  packet.begin = window.fraction(send.begin_ns);
  packet.end = window.fraction(send.end_ns);
  if (packet.end - packet.begin < kShortestHop) {
    packet.stretched = true;
    packet.begin = std::min(packet.begin, 1.0 - kShortestHop);
    packet.end = packet.begin + kShortestHop;
  }
  return packet;
}

void fillRank(RankScene& scene, std::vector<MovingPacket>& packets, const Trace& trace,
              const traces::MomentIndex& index, const Place& place,
              const std::vector<traces::TokenRun>& chunks) {
  const auto queries = localRuns(trace, place.train_step, scene.rank, chunks);
  for (const LocalRun& run : queries) scene.chunks.push_back(run.chunk);
  const Window window = windowOf(trace, index, place, scene.rank);
  if (window.end > 0) scene.begin_ns = window.begin, scene.end_ns = window.end;
  for (Place step = place; step.stage >= 0; --step.stage) {
    for (const auto i : index.eventsOf(step, scene.rank)) {
      const Event& event = trace.events(scene.rank)[i];
      const bool now = step == place;
      if (event.kind == EventKind::kAttend)
        addCells(scene.cells, event, queries,
                 localRuns(trace, place.train_step, event.source_rank, chunks), now);
      if (!now) continue;
      if (event.kind == EventKind::kAttend) {
        if (std::find(scene.sources.begin(), scene.sources.end(), event.source_rank) ==
            scene.sources.end())
          scene.sources.push_back(event.source_rank);
        scene.held_source = event.source_rank;
        scene.queries = std::max<std::int64_t>(scene.queries, event.q_end - event.q_begin);
        scene.attend_ns += event.duration();
      } else if (event.kind == EventKind::kSend) {
        if (event.payload == Payload::kKv) scene.held_source = event.source_rank;
        packets.push_back(packetOf(event, window));
      } else if (event.kind == EventKind::kWait && event.payload != Payload::kDkv) {
        scene.wait_ns += event.duration();
        scene.waits_for = event.peer;
        scene.wait_begin = window.fraction(event.begin_ns);
      }
    }
  }
  // Without the shards it is not known which chunks the rows belong to.
  scene.attending = scene.cells.empty() && scene.queries > 0
                        ? std::to_string(scene.queries) + " query rows × block " +
                              std::to_string(scene.held_source)
                        : describeCells(scene.cells);
  if (place.direction == traces::Direction::kForward) {
    Place previous = place;
    --previous.stage;
    scene.lse_before = meanLse(trace, previous, scene.rank);
    scene.lse_after = meanLse(trace, place, scene.rank);
  }
}

/// What of the source's block is attended: "block 1", "the first half of block 1".
std::string describeKeys(const RankScene& scene, std::size_t chunks_of_source) {
  std::vector<int> keys;
  bool diagonal = false;
  for (const auto& cell : scene.cells) {
    if (!cell.now) continue;
    diagonal = diagonal || cell.diagonal;
    if (std::find(keys.begin(), keys.end(), cell.key_chunk) == keys.end())
      keys.push_back(cell.key_chunk);
  }
  const std::string block = "block " + std::to_string(scene.held_source);
  if (diagonal) return "its own " + block + ", causally";
  return keys.size() < chunks_of_source ? "the first half of " + block : block;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string sentenceFor(const RankScene& scene, std::size_t chunks_of_source, const Place& place) {
  const std::string who = "rank " + std::to_string(scene.rank);
  if (scene.queries == 0)
    return who + " passes block " + std::to_string(scene.held_source) +
           " on; all of it lies in its queries’ future";
  if (place.direction == traces::Direction::kBackward)
    return who + " adds to dK and dV of block " + std::to_string(scene.held_source) +
           "; dQ of its " + std::to_string(scene.queries) + " queries stays";
  std::string text = who + " attends its " + std::to_string(scene.queries) + " queries to " +
                     (scene.sources.size() > 1
                          ? "all " + std::to_string(scene.sources.size()) + " blocks that it needs"
                          : describeKeys(scene, chunks_of_source));
  if (std::isfinite(scene.lse_after))
    text += std::isfinite(scene.lse_before)
                ? "; its log‑sum‑exp rises from " + number(scene.lse_before) + " to " +
                      number(scene.lse_after)
                : "; its log‑sum‑exp is " + number(scene.lse_after);
  return text;
}

/// Ring steps of the pass that a place belongs to.
int ringStepsOf(const Trace& trace, Place place) {
  place.stage = std::numeric_limits<std::int16_t>::max();
  const auto& moments = trace.moments();
  const auto after = std::lower_bound(moments.begin(), moments.end(), place, traces::before);
  return after == moments.begin() ? 0 : std::prev(after)->stage + 1;
}

}  // namespace

std::string listedChunks(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::size_t last = i;  // three or more in a row are told as a range
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last >= i + 2) text += "–" + std::to_string(numbers[i = last]);
  }
  return text;
}

int headsSharedBy(const Trace& trace) {
  return std::max(1, trace.run().value("ulysses", 1));
}

std::vector<traces::TokenRun> chunkRanges(const Trace& trace, int train_step) {
  std::vector<traces::TokenRun> chunks;
  for (int rank = 0; rank < trace.worldSize() && !isStriped(trace); ++rank)
    if (const auto* shard = anyShard(trace, train_step, rank))
      chunks.insert(chunks.end(), shard->global_from_local.begin(), shard->global_from_local.end());
  std::sort(chunks.begin(), chunks.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  return chunks;
}

RingScene ringScene(const Trace& trace, const traces::MomentIndex& index,
                    const std::vector<Place>& places, int selected) {
  RingScene scene;
  if (places.empty()) return scene;
  selected = std::clamp(selected, 0, static_cast<int>(places.size()) - 1);
  scene.place = places[static_cast<std::size_t>(selected)];
  scene.ring_steps = ringStepsOf(trace, scene.place);
  scene.heads_shared_by = headsSharedBy(trace);
  const auto chunks = chunkRanges(trace, scene.place.train_step);
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    RankScene of_rank;
    of_rank.rank = static_cast<int>(rank);
    of_rank.place = places[rank];
    of_rank.lse_before = of_rank.lse_after = kUnknown;
    fillRank(of_rank, scene.packets, trace, index, places[rank], chunks);
    for (const int chunk : of_rank.chunks)
      scene.chunk_count = std::max(scene.chunk_count, chunk + 1);
    scene.ranks.push_back(std::move(of_rank));
  }
  const RankScene& chosen = scene.ranks[static_cast<std::size_t>(selected)];
  const bool known =
      chosen.held_source >= 0 && chosen.held_source < static_cast<int>(scene.ranks.size());
  const std::size_t chunks_of_source =
      known ? scene.ranks[static_cast<std::size_t>(chosen.held_source)].chunks.size() : 1;
  scene.sentence = sentenceFor(chosen, chunks_of_source, scene.place);
  return scene;
}

std::pair<std::int64_t, std::int64_t> stageWindow(const Trace& trace,
                                                  const traces::MomentIndex& index,
                                                  const Place& place, int rank) {
  const Window window = windowOf(trace, index, place, rank);
  return window.end > 0 ? std::pair(window.begin, window.end)
                        : std::pair<std::int64_t, std::int64_t>(0, 0);
}

std::string describeBytes(std::int64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) value /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text,
                unit == 0 || value >= 100 || value == std::floor(value) ? "%.0f %s" : "%.1f %s",
                value, units[unit]);
  return text;
}

std::string describeDuration(std::int64_t ns) {
  const char* units[] = {"ns", "µs", "ms", "s"};
  double value = static_cast<double>(ns);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(units)) value /= 1000, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value,
                units[unit]);
  return text;
}

}  // namespace ringscope::viz

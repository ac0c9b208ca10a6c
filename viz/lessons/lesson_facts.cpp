// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/lessons/lesson_facts.h"

#include <algorithm>
#include <cmath>

#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/names.h"
#include "viz/scene/position_rows.h"
#include "viz/scene/ring_scene.h"
#include "viz/views/coverage/coverage_scene.h"
#include "viz/views/memory/memory_law_scene.h"
#include "viz/views/merge/merge_scene.h"

namespace ringscope::viz {
namespace {

using traces::Trace;
using Fact = std::optional<LessonFact>;
using ReadFact = Fact (*)(const Trace&, const Cursor&);

constexpr double kKibibyte = 1024, kMebibyte = 1024 * 1024;

LessonFact countFact(std::int64_t count) {
  return {static_cast<double>(count), 0, std::to_string(count)};
}

/// Returns a fact that the views show rounded: learners may be off by one unit of the last digit.
LessonFact measuredFact(double number, double unit, const std::string& word) {
  return {number, unit, word};
}

Fact rankFact(WorldRank rank) {
  if (!rank.exists()) return std::nullopt;
  return countFact(rank.value());
}

Fact ringSteps(const Trace& trace, const Cursor& cursor) {
  const RingScene scene = makeRingScene(trace, cursor);
  if (scene.ring_steps == 0) return std::nullopt;
  return countFact(scene.ring_steps);
}

/// Returns the packet that leaves the selected rank in the ring step.
std::optional<MovingPacket> sentPacket(const Trace& trace, const Cursor& cursor,
                                       traces::Payload payload) {
  const RingScene scene = makeRingScene(trace, cursor);
  for (const MovingPacket& packet : scene.packets)
    if (packet.from == cursor.rank && packet.payload == payload) return packet;
  return std::nullopt;
}

Fact kvBlockSize(const Trace& trace, const Cursor& cursor) {
  const auto packet = sentPacket(trace, cursor, traces::Payload::kKv);
  if (!packet) return std::nullopt;
  return measuredFact(static_cast<double>(packet->bytes) / kKibibyte, 0.1,
                      traces::describeBytes(packet->bytes));
}

Fact returningBlock(const Trace& trace, const Cursor& cursor) {
  const auto packet = sentPacket(trace, cursor, traces::Payload::kDkv);
  return packet ? rankFact(packet->source_rank) : std::nullopt;
}

const PositionRun* firstRun(const PositionStrip& strip, WorldRank rank) {
  for (const PositionRow& row : strip.rows)
    if (row.rank == rank && !row.runs.empty()) return &row.runs.front();
  return nullptr;
}

Fact firstPosition(const Trace& trace, const Cursor& cursor) {
  const PositionStrip strip = makePositionStrip(trace, cursor);
  const PositionRun* run = firstRun(strip, cursor.rank);
  if (!run) return std::nullopt;
  return countFact(run->first);
}

Fact expectedPosition(const Trace& trace, const Cursor& cursor) {
  const PositionStrip strip = makePositionStrip(trace, cursor);
  const PositionRun* run = firstRun(strip, cursor.rank);
  if (!run || !strip.unknown.empty()) return std::nullopt;
  return countFact(run->expected_first);
}

Fact blockWeight(const Trace& trace, const Cursor& cursor) {
  const MergeScene scene = makeMergeScene(trace, cursor, {});
  for (const MergeStep& step : scene.history.steps) {
    if (step.ring_step != cursor.place.stage || !step.attended) continue;
    const double percent = step.weight * 100;
    return measuredFact(percent, 0.5, std::to_string(std::lround(percent)) + " %");
  }
  return std::nullopt;
}

Fact balanceEfficiency(const Trace& trace, const Cursor& cursor) {
  const CoverageScene scene = makeCoverageScene(trace, cursor);
  if (!scene.note.empty()) return std::nullopt;
  const double percent = scene.efficiency() * 100;
  return measuredFact(percent, 0.5, std::to_string(std::lround(percent)) + " %");
}

Fact busiestRank(const Trace& trace, const Cursor& cursor) {
  const CoverageScene scene = makeCoverageScene(trace, cursor);
  const auto most = std::ranges::max_element(scene.work_total);
  if (most == scene.work_total.end()) return std::nullopt;
  return rankFact(scene.ranks.at(static_cast<std::size_t>(most - scene.work_total.begin())));
}

Fact longestWaiting(const Trace& trace, const Cursor& cursor) {
  return rankFact(makeCoverageScene(trace, cursor).longestWaiting());
}

Fact peakMemory(const Trace& trace, const Cursor& cursor) {
  const MemoryPeak peak = memoryPeak(trace, cursor.rank);
  if (peak.bytes <= 0) return std::nullopt;
  return measuredFact(static_cast<double>(peak.bytes) / kMebibyte, 0.1,
                      traces::describeBytes(peak.bytes));
}

Fact largestCategory(const Trace& trace, const Cursor& cursor) {
  const MemoryPeak peak = memoryPeak(trace, cursor.rank);
  if (peak.bytes <= 0) return std::nullopt;
  const auto most = std::ranges::max_element(peak.by_category) - peak.by_category.begin();
  return LessonFact{0, 0, traces::name(static_cast<traces::MemoryCategory>(most))};
}

struct NamedFact {
  const char* name;
  ReadFact read;
};
constexpr NamedFact kFacts[] = {
    {"ring_steps", ringSteps},
    {"kv_block_kib", kvBlockSize},
    {"returning_block", returningBlock},
    {"first_position", firstPosition},
    {"expected_first_position", expectedPosition},
    {"block_weight", blockWeight},
    {"balance_efficiency", balanceEfficiency},
    {"busiest_rank", busiestRank},
    {"longest_waiting_rank", longestWaiting},
    {"peak_memory_mib", peakMemory},
    {"largest_memory", largestCategory},
};

}  // namespace

const std::vector<std::string>& factNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const NamedFact& fact : kFacts) names.emplace_back(fact.name);
    return names;
  }();
  return kNames;
}

std::optional<LessonFact> readFact(const std::string& name, const Trace& trace,
                                   const Cursor& cursor) {
  return traces::entryNamed("fact", name, kFacts, [](const NamedFact& fact) { return fact.name; })
      .read(trace, cursor);
}

}  // namespace ringscope::viz

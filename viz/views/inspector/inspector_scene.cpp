// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/inspector/inspector_scene.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/checks.h"
#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/why_empty.h"

namespace ringscope::viz {

using traces::EventKind;
using traces::Trace;

namespace {

/// Adds up row by row what several pieces of one block brought; nothing where values are missing.
std::optional<MeanLse> lseByRow(const Trace& trace, const traces::StageRecord& stage,
                                const std::vector<const traces::TensorRecord*>& blocks) {
  std::map<std::pair<std::int64_t, std::int64_t>, double> of_row;  // by batch and head, and row
  for (const auto* block : blocks) {
    const auto values = trace.values(*block);
    if (!values || block->shape.size() != 3) return std::nullopt;
    const std::int64_t rows = block->shape[2], first = stage.pieces[block->piece.index()].q_begin;
    for (std::int64_t i = 0; i < std::ssize(*values); ++i) {
      const double lse = (*values)[static_cast<std::size_t>(i)];
      if (!std::isfinite(lse)) continue;
      const auto [known, added] = of_row.try_emplace({i / rows, first + i % rows}, lse);
      const double least = std::min(known->second, lse), most = std::max(known->second, lse);
      if (!added) known->second = most + std::log1p(std::exp(least - most));
    }
  }
  MeanLse lse{0, std::ssize(of_row)};
  for (const auto& [row, value] : of_row) lse.mean += value / static_cast<double>(lse.rows);
  return lse;
}

/// Some query row is in several pieces.
bool sharesRows(const traces::StageRecord& stage) {
  for (const auto& a : stage.pieces)
    for (const auto& b : stage.pieces)
      if (&a != &b && a.q_begin < b.q_end && b.q_begin < a.q_end) return true;
  return false;
}

/// The mean over the rows of a stage's block. When pieces share rows, the mean is computed from
/// values, because statistics do not tell it.
MeanLse blockLse(const Trace& trace, const Place& place, WorldRank rank,
                 const traces::StageRecord& stage) {
  auto blocks = trace.tensorsAt({traces::TensorKind::kBlockLse}, place, rank);
  std::erase_if(blocks, [&](const auto* block) {
    return block->source_rank != stage.source_rank || block->piece.isNone() ||
           block->piece.index() >= stage.pieces.size();
  });
  if (sharesRows(stage)) return lseByRow(trace, stage, blocks).value_or(MeanLse());
  MeanLse lse;
  double sum = 0;
  for (const auto* block : blocks) {
    std::int64_t rows = -block->stats.inf - block->stats.nan;
    rows += std::accumulate(block->shape.begin(), block->shape.end(), std::int64_t{1},
                            std::multiplies<>());
    sum += block->stats.mean * static_cast<double>(rows);
    lse.rows += rows;
  }
  if (lse.known()) lse.mean = sum / static_cast<double>(lse.rows);
  return lse;
}

bool attended(const Trace& trace, const Place& place, WorldRank rank, WorldRank source) {
  return std::ranges::any_of(trace.eventsAt(place, rank), [&](const traces::Event& event) {
    return event.kind == EventKind::kAttend && event.source_rank == source;
  });
}

void addLse(InspectorScene& scene, const Trace& trace, const RingScene& ring) {
  const RankScene& rank = ring.selectedRank();
  Place place = rank.place;
  const RingStep now = place.stage;
  const bool backward = place.direction == traces::Direction::kBackward;
  place.direction = traces::Direction::kForward;
  const auto* schedule = trace.schedule(place.train_step, rank.rank, place.direction, place.layer);
  if (!schedule) {
    scene.lse_note = noSchedule(trace);
    return;
  }
  double largest = 1;
  for (const traces::StageRecord& stage : schedule->stages) {
    place.stage = stage.ring_step;
    LseLine line{stage.ring_step, stage.source_rank, std::nullopt, 0, {}};
    const MeanLse block = blockLse(trace, place, rank.rank, stage);
    const bool come = stage.ring_step <= now || backward;
    if (block.known() && come) {
      line.mean = block.mean;
      largest = std::max(largest, std::abs(block.mean));
    } else {
      line.words = !come ? "to come"
                   : attended(trace, place, rank.rank, stage.source_rank)
                       ? "not recorded"
                       : emptyWords(stage.why_empty).brief;
    }
    scene.lse.push_back(std::move(line));
  }
  for (LseLine& line : scene.lse) line.share = line.mean.value_or(0) / largest;
  scene.running_lse = rank.lse_after;
}

/// Adds the worst difference of the viewed training step, and that of the run when it is in another
/// step.
void addWorst(InspectorScene& scene, const Trace& trace, std::int32_t train_step,
              const traces::WorstDiffs& diffs) {
  auto add = [&](const std::string& title, const traces::DiffRecord& worst) {
    const bool wrong = traces::diverges(worst);
    scene.worst.push_back({(wrong ? "▲ " : "✓ ") + title + traces::describe(worst) + ")",
                           traces::describeMultiple(worst.ratio) + " limit", wrong});
  };
  const auto step = [](std::int32_t number) { return "step " + std::to_string(number); };
  for (const bool isolated : {true, false}) {
    const char* kind = isolated ? "isolated" : "end to end";
    const auto* here =
        isolated ? diffs.isolated(trace, train_step) : diffs.endToEnd(trace, train_step);
    const auto* run = isolated ? diffs.isolated(trace) : diffs.endToEnd(trace);
    if (here) add(kind + (", worst of " + step(train_step)) + " (", *here);
    if (run && run->place.train_step != train_step)
      add(kind + std::string(", worst of the run (") + step(run->place.train_step) + ", ", *run);
  }
}

void addDoctor(InspectorScene& scene, const std::optional<traces::Diagnosis>& diagnosis,
               bool live) {
  if (!diagnosis) {
    scene.doctor = live ? "looks at the recording when the run has ended" : "looking …";
    return;
  }
  if (!diagnosis->problem.empty()) {
    scene.doctor = "▲ could not read the recording: " + diagnosis->problem;
    return;
  }
  scene.doctor_clear = traces::isClear(*diagnosis);
  if (diagnosis->findings().empty() || !diagnosis->unread.empty())
    scene.doctor_headline = traces::headline(*diagnosis);
  for (const auto& finding : diagnosis->findings())
    scene.findings.push_back(
        {finding.title,
         finding.rule + " · " + name(finding.confidence) + " · " + traces::describe(finding.place),
         finding.evidence, finding.remedy});
  const traces::Checks checks = traces::countChecks(*diagnosis);
  scene.clear = checks.clear;
  scene.not_observable = checks.not_made;
}

}  // namespace

InspectorScene makeInspectorScene(const Trace& trace, const Cursor& cursor,
                                  const InspectorSources& sources) {
  InspectorScene scene;
  scene.memory = sources.memory;
  scene.rank = cursor.rank;
  scene.end_ns = trace.endNs();
  if (sources.ring.ranks.empty()) {
    scene.note = trace.worldSize() > 0 ? "No ring step is recorded." : "Nothing is recorded yet.";
    return scene;
  }
  const RankScene& rank = sources.ring.selectedRank();
  scene.title = "rank " + toString(rank.rank) + " · layer " + toString(rank.place.layer) + " · " +
                traces::name(rank.place.direction);
  scene.attending = rank.attending;
  scene.known = rank.known;
  scene.attend_ns = rank.attend_ns;
  scene.wait_ns = rank.wait_ns;
  scene.sums_wait_ns = rank.sums_wait_ns;
  addLse(scene, trace, sources.ring);
  addWorst(scene, trace, rank.place.train_step, sources.worst);
  scene.worst_advice = traces::verdictAdvice(trace, "shows it");
  addDoctor(scene, sources.diagnosis, sources.live);
  return scene;
}

}  // namespace ringscope::viz

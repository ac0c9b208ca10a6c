// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "tests/hostile/actions.h"
#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/groups.h"
#include "viz/scene/ring_scene.h"
#include "viz/views/compare/run_summary_scene.h"
#include "viz/views/coverage/coverage_scene.h"
#include "viz/views/diff/diff_scene.h"
#include "viz/views/doctor/doctor_scene.h"
#include "viz/views/inspector/inspector_scene.h"
#include "viz/views/memory/memory_scene.h"
#include "viz/views/merge/merge_scene.h"
#include "viz/views/pass/pass_scene.h"
#include "viz/views/positions/positions_scene.h"
#include "viz/views/positions/token_table_scene.h"
#include "viz/views/tensor/tensor_scene.h"

namespace ringscope::test {
namespace {

using namespace viz;

/// Returns the places that a user can reach: moment by moment with the keys, by a finding, or at
/// the start.
std::vector<Place> placesIn(const traces::Trace& trace) {
  const auto& moments = trace.moments();
  std::vector<Place> places = {Place()};
  if (!moments.empty()) {
    places.push_back(moments.front());
    places.push_back(moments[moments.size() / 2]);
    places.push_back(moments.back());
  }
  return places;
}

std::size_t drawRing(const traces::Trace& trace, const Cursor& cursor) {
  const RingScene ring = makeRingScene(trace, cursor);
  std::size_t words = ring.sentence.size() + ring.note.size();
  for (const RankScene& rank : ring.ranks)
    for (const double phase : {0.0, 0.5, 1.0}) {
      instantAt(ring, phase);
      words += rankPhase(ring, rank, phase) > 0 ? 1 : 0;
    }
  const CoverageScene coverage = makeCoverageScene(trace, cursor);
  words += describe(coverage).size();
  for (const int chunk : {0, coverage.chunks - 1})
    if (!coverage.cells.empty() && chunk >= 0)
      words +=
          describePair(coverage, chunk, chunk).size() + coverage.pairPainters(chunk, chunk).size();
  return words;
}

std::size_t drawInspector(const traces::Trace& trace, const Cursor& cursor) {
  traces::WorstDiffs worst;
  worst.update(trace);
  const std::optional<traces::Diagnosis> diagnosis = traces::diagnose(trace);
  const RingScene ring = makeRingScene(trace, cursor);
  const auto series = std::make_shared<const MemorySeries>(memorySeries(trace, cursor.rank, 200));
  const InspectorScene scene =
      makeInspectorScene(trace, cursor, {ring, worst, diagnosis, series, false});
  return scene.title.size() + makeDoctorScene(diagnosis, false).headline.size();
}

std::size_t drawRest(const traces::Trace& trace, Cursor cursor) {
  std::size_t words = 0;
  for (const Axis axis : {Axis::kRingStep, Axis::kTime}) {
    cursor.axis = axis;
    words += makePassScene(trace, cursor).bars.size();
  }
  for (const char* tensor : {"out", "dk", "loss"}) {
    cursor.tensor = tensor;
    for (const ErrorUnit unit : {ErrorUnit::kAbsolute, ErrorUnit::kRelative, ErrorUnit::kUlp})
      words += makeDiffScene(trace, cursor, unit, false).tables.size();
  }
  for (const std::int64_t head : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 40})
    for (const std::int64_t query : {-1, 0, 7, 8})
      words += makeMergeScene(trace, cursor, {head, query}).history.steps.size();
  words += makeMemoryScene(trace, cursor).peak.cause.size();
  const auto strip = std::make_shared<const PositionStrip>(makePositionStrip(trace, cursor));
  words += makePositionsScene(trace, cursor, strip).table.cells.size() + strip->verdict().size();
  return words + describe(runSummary(trace, cursor.place.train_step)).size();
}

std::size_t drawTensors(const traces::Trace& trace, const Cursor& cursor) {
  std::size_t words = 0;
  for (const TensorRow& row : makeTensorRows(trace, cursor, ""))
    for (const std::int64_t lead : {std::int64_t{0}, std::int64_t{1} << 50}) {
      const TensorScene scene = makeTensorScene(trace, row, {{lead, lead}, nullptr, false});
      words += scene.note.size() + scene.histogram.bins.size();
    }
  return words;
}

}  // namespace

Answer makeScenes(const Words& words) {
  Answer answer;
  try {
    const auto trace = traces::openTrace(words.at(0));
    std::size_t drawn = 0;
    const auto begin = std::chrono::steady_clock::now();
    const int groups = static_cast<int>(listGroups(*trace).size());
    for (int group = 0; group < std::min(groups, 3); ++group)
      for (const Place& place : placesIn(*trace)) {
        const auto ranks = groupRanks(*trace, group);
        for (const WorldRank rank : {ranks.front(), ranks.back()}) {
          // A large trace is drawn at fewer moments, since one moment must end long before the
          // limit.
          if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(1)) continue;
          Cursor cursor{group, place, 0.5, rank};
          drawn += drawRing(*trace, cursor) + drawInspector(*trace, cursor) +
                   drawRest(*trace, cursor) + drawTensors(*trace, cursor);
        }
      }
    answer.out = std::to_string(drawn);
  } catch (const Error& error) {
    answer = {2, "", "ringscope: " + traces::toPlainText(error.what()) + "\n"};
  }
  return answer;
}

}  // namespace ringscope::test

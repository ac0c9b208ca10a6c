// SPDX-License-Identifier: Apache-2.0
// A recording that still grows: what is not there yet is said not to be, never to be wrong.
#include <algorithm>

#include "tests/facts/scene_facts.h"
#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "viz/scene/groups.h"
#include "viz/scene/position_rows.h"
#include "viz/scene/ring_scene.h"
#include "viz/views/compare/run_summary_scene.h"
#include "viz/views/coverage/coverage_scene.h"
#include "viz/views/diff/diff_scene.h"
#include "viz/views/inspector/inspector_scene.h"
#include "viz/views/memory/memory_scene.h"
#include "viz/views/merge/merge_scene.h"
#include "viz/views/pass/pass_scene.h"

namespace ringscope::facts {
namespace {

using traces::EventKind;

bool has(const std::string& words, const char* part) {
  return words.find(part) != std::string::npos;
}

/// The first chunks of a recording, looked at somewhere.
class GrowingFacts {
 public:
  GrowingFacts(const Case& whole, std::size_t chunks, std::mt19937& random)
      : c_(whole), part_(std::make_shared<traces::Trace>()) {
    for (std::size_t i = 0; i < chunks; ++i) part_->add(whole.chunks[i]);
    if (part_->moments().empty()) return;
    groups_ = viz::listGroups(*part_);
    cursor_.place = part_->moments()[random() % part_->moments().size()];
    cursor_.group = static_cast<int>(random() % groups_.size());
    const auto& ranks = groups_[static_cast<std::size_t>(cursor_.group)].ranks;
    cursor_.rank = ranks[random() % ranks.size()];
    look_.group = ranks.front().value() / c_.cp;
    look_.rank = cursor_.rank.value() % c_.cp;
    look_.step = cursor_.place.train_step;
    look_.layer = cursor_.place.layer.value();
    look_.ring_step = cursor_.place.stage.value();
    look_.backward = cursor_.place.direction == traces::Direction::kBackward;
  }

  void expect() const {
    const auto ring = viz::makeRingScene(*part_, cursor_, true);
    if (!ring.note.empty()) {
      EXPECT_TRUE(has(ring.note, "is starting")) << ring.note;
      EXPECT_FALSE(isBegun());
      return;
    }
    SCOPED_TRACE(traces::describe(cursor_.place) + " rank " + toString(cursor_.rank));
    for (const auto& group : groups_) {
      EXPECT_EQ(std::ssize(group.ranks), c_.cp) << "a group of the run: " << group.name;
      EXPECT_EQ(group.ranks.front().value() % c_.cp, 0);
    }
    if (testing::Test::HasFailure() || !isPlanned()) return;
    expectRingOf(ring);
    expectInspectorOf(ring);
    expectCoverageOf();
    expectMergeOf();
    expectPanels();
  }

 private:
  const PlanOracle& oracle() const { return c_.oracle(look_.step, look_.group); }

  /// Its groups are recorded, and something of every rank.
  bool isBegun() const {
    for (int rank = 0; rank < c_.groups() * c_.cp; ++rank)
      if (rank >= part_->worldSize() || part_->eventCount(traces::WorldRank::of(rank)) == 0)
        return false;
    const auto rings =
        std::ranges::count(part_->groups(), traces::GroupAxis::kCp, &traces::GroupRecord::axis);
    return rings == c_.groups() && !part_->moments().empty();
  }

  /// All that the run planned up to this training step is there: a plan holds until the next one.
  bool isPlanned() const {
    const auto planned = [&](const traces::Trace& trace) {
      const auto until_now = [&](const auto& record) { return record.train_step <= look_.step; };
      return std::ranges::count_if(trace.schedules(), until_now) +
             std::ranges::count_if(trace.intents(), until_now);
    };
    return planned(*part_) == planned(*c_.trace);
  }

  std::set<int> recordedSources(int rank) const {
    std::set<int> sources;
    const auto world = traces::WorldRank::of(c_.worldRankFor(look_.group, rank));
    for (const auto& event : part_->eventsAt(cursor_.place, world))
      if (event.kind == EventKind::kAttend) sources.insert(event.source_rank.value());
    return sources;
  }

  void expectRingOf(const viz::RingScene& ring) const {
    ASSERT_EQ(std::ssize(ring.ranks), c_.cp);
    for (int rank = 0; rank < c_.cp; ++rank) {
      const auto& says = ring.ranks[static_cast<std::size_t>(rank)];
      std::set<int> sources;
      for (const auto source : says.sources) sources.insert(source.value());
      EXPECT_EQ(sources, recordedSources(rank));
      const bool attends = !oracle().attended(rank, look_.ring_step, look_.backward).empty();
      if (attends && sources.empty()) {
        EXPECT_TRUE(has(says.idle, "not recorded")) << says.idle;
        if (rank == look_.rank) {
          EXPECT_TRUE(has(ring.sentence, "recorded")) << ring.sentence;
        }
      }
    }
  }

  void expectInspectorOf(const viz::RingScene& ring) const {
    traces::WorstDiffs worst;
    worst.update(*part_);
    const std::optional<traces::Diagnosis> none;
    const auto scene = viz::makeInspectorScene(
        *part_, cursor_, {ring, worst, none, std::make_shared<const viz::MemorySeries>(), true});
    EXPECT_EQ(scene.doctor, "looks at the recording when the run has ended");
    EXPECT_EQ(scene.worst.empty(), part_->diffs().empty());
    for (const auto& line : scene.lse) {
      if (line.words.empty() || line.words == "to come") continue;
      const bool attends = oracle().pairs(look_.rank, line.source_rank.value() % c_.cp) > 0;
      EXPECT_EQ(has(line.words, "not recorded"), attends) << line.words;
    }
  }

  std::int64_t attendsOfPass(const traces::Trace& trace) const {
    std::int64_t count = 0;
    traces::Place place = cursor_.place;
    for (int step = 0; step < oracle().ringSteps(); ++step)
      for (int rank = 0; rank < c_.cp; ++rank) {
        place.stage = traces::RingStep::of(step);
        const auto world = traces::WorldRank::of(c_.worldRankFor(look_.group, rank));
        for (const auto& event : trace.eventsAt(place, world))
          count += event.kind == EventKind::kAttend;
      }
    return count;
  }

  void expectCoverageOf() const {
    const std::string says = viz::describe(viz::makeCoverageScene(*part_, cursor_));
    EXPECT_FALSE(has(says, "▲")) << says;
    if (has(says, "✓")) {
      EXPECT_EQ(attendsOfPass(*part_), attendsOfPass(*c_.trace)) << says;
    }
  }

  void expectMergeOf() const {
    const auto scene = viz::makeMergeScene(*part_, cursor_, {0, -1});
    if (!scene.note.empty()) {
      EXPECT_TRUE(has(scene.note, "Not ")) << scene.note;
      return;
    }
    for (const auto& step : scene.history.steps) {
      bool any = false;
      for (const int key : oracle().attended(step.source_rank.value() % c_.cp))
        any = any || oracle().allowed(static_cast<int>(scene.token.value()), key);
      EXPECT_EQ(step.attended, any) << step.words;
    }
  }

  void expectPanels() const {
    const std::string positions = viz::makePositionStrip(*part_, cursor_).verdict();
    int known = 0;
    for (int rank = 0; rank < c_.cp; ++rank) {
      const auto* tensor =
          part_->findTensor({traces::TensorKind::kPositionIds, ""}, {look_.step},
                            traces::WorldRank::of(c_.worldRankFor(look_.group, rank)));
      known += tensor && part_->values(*tensor);
    }
    EXPECT_TRUE(!has(positions, "✓ all") || known == c_.cp) << positions;
    const auto diff = viz::makeDiffScene(*part_, cursor_, viz::ErrorUnit::kLimit, true);
    const bool compared = std::ranges::any_of(
        part_->diffs(), [&](const auto& d) { return d.place.train_step == look_.step; });
    EXPECT_EQ(diff.note, compared ? "" : "This step has not been compared yet.");
    const auto summary = viz::runSummary(*part_, look_.step);
    EXPECT_EQ(summary.worst_ratio.has_value(), compared);
    const auto memory = viz::makeMemoryScene(*part_, cursor_);
    EXPECT_LE(memory.peak.bytes, viz::makeMemoryScene(*c_.trace, look_.cursor(c_)).peak.bytes);
    const auto timeline = viz::makePassScene(*part_, cursor_);
    EXPECT_LE(timeline.end_ns, part_->endNs());
  }

  const Case& c_;
  std::shared_ptr<traces::Trace> part_;
  std::vector<viz::Group> groups_;
  viz::Cursor cursor_;
  Look look_;
};

}  // namespace

void expectGrowing(const Case& c, std::mt19937& random) {
  const std::size_t chunks = random() % (c.chunks.size() + 1);
  SCOPED_TRACE("after " + std::to_string(chunks) + " of " + std::to_string(c.chunks.size()) +
               " chunks");
  GrowingFacts(c, chunks, random).expect();
}

}  // namespace ringscope::facts

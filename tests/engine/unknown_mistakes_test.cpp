// SPDX-License-Identifier: Apache-2.0
// Mistakes that are in no catalogue, made at the engine's seams. The doctor must name the rank and
// the ring step of each, and must not give it a name.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/mistakes/wrapped_rotation.h"
#include "tests/engine/unlisted_run.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/doctor/unknown_mistake.h"

namespace ringscope::engine {
namespace {

using test::recordedWith;
using traces::Direction;
using traces::Layer;
using traces::MaskKind;
using traces::RingStep;
using traces::Rotate;
using traces::Strategy;

/// The place of a mistake, in layer 1 of the only training step.
struct Target {
  WorldRank rank, source;
  RingStep ring_step;

  bool is(const SeamPlace& at) const {
    return isLayer(at) && at.place.stage == ring_step && at.source_rank.value() == source.value();
  }
  bool isLayer(const SeamPlace& at) const {
    return at.place.layer == Layer::of(1) && at.worldRank() == rank;
  }
};

struct RunCase {
  std::string name;
  int cp = 4;
  Strategy strategy = Strategy::kRing;
  Rotate rotate = Rotate::kP2p;
  MaskKind mask = MaskKind::kCausal;
};

const std::vector<RunCase> kRuns = {
    {"RingCausal", 4},
    {"RingWindow", 8, Strategy::kRing, Rotate::kP2p, MaskKind::kWindow},
    {"GatheredRing", 2, Strategy::kRing, Rotate::kAllGather},
    {"RingDocuments", 3, Strategy::kRing, Rotate::kP2p, MaskKind::kDocuments},
    {"Ulysses", 2, Strategy::kUlysses},
    {"UlyssesDocuments", 4, Strategy::kUlysses, Rotate::kP2p, MaskKind::kDocuments},
    {"GatheredAtOnce", 3, Strategy::kAllGather},
    {"Hybrid", 4, Strategy::kHybrid},
    {"HybridWindow", 8, Strategy::kHybrid, Rotate::kAllGather, MaskKind::kWindow},
};

TrainConfig configOf(const RunCase& c) {
  TrainConfig config;
  config.text = {ringscope::test::sampleText()};
  config.cp = c.cp;
  config.strategy = c.strategy;
  config.ulysses = c.strategy == Strategy::kHybrid ? 2 : 0;
  config.rotate = c.rotate;
  config.mask = c.mask;
  config.window = c.mask == MaskKind::kWindow ? 40 : 0;
  config.steps = 1;
  config.seq_len = 96;
  config.verify = true;
  config.capture = "full";
  return config;
}

/// Returns the last rank's last ring step that attends something.
Target targetOf(const traces::Trace& trace, Direction direction) {
  const WorldRank rank = WorldRank::of(trace.worldSize() - 1);
  Target target{rank, {}, {}};
  for (const auto& stage : trace.schedule(0, rank, direction)->stages)
    if (!stage.pieces.empty()) {
      target.source = stage.source_rank;
      target.ring_step = stage.ring_step;
    }
  return target;
}

/// A rotation that adds the part of one ring step to dK twice.
class DoubledPart : public WrappedRotation {
 public:
  DoubledPart(std::unique_ptr<Rotation> correct, std::size_t stage)
      : WrappedRotation(std::move(correct)), target_(stage) {}

  /// Returns the sums. A ring step calls it twice: to add its part, and to have the sums recorded.
  at::Tensor& held() override {
    at::Tensor& sums = WrappedRotation::held();
    if (stage_ != target_ || ++asked_ > 2) return sums;
    if (asked_ == 1)
      before_ = target_ == 0 ? at::zeros_like(sums) : sums.clone();
    else
      sums[0].add_(sums[0] - before_[0]);
    return sums;
  }
  void advance() override {
    WrappedRotation::advance();
    ++stage_;
  }

 private:
  std::size_t target_, stage_ = 0;
  int asked_ = 0;
  at::Tensor before_;
};

/// A mistake that is in no catalogue.
struct UnlistedOp {
  std::string name;
  Direction direction = Direction::kForward;
  std::string says;  ///< text of the evidence
  void (*make)(Seams& seams, const Target& target);
};

void change(Seams& seams, const Target& target,
            const std::function<void(AttentionResult& block)>& how) {
  extend(seams.attention.block, [=](const SeamPlace& at, const Piece&, AttentionResult& block) {
    if (!target.is(at)) return;
    block.out = block.out.clone();
    block.lse = block.lse.clone();
    how(block);
  });
}

void doubleDk(Seams& seams, const Target& target) {
  seams.ring.dkv = [target](const SeamPlace& at, const RingSchedule&,
                            std::unique_ptr<Rotation> correct) -> std::unique_ptr<Rotation> {
    if (!target.isLayer(at)) return correct;
    return std::make_unique<DoubledPart>(std::move(correct), target.ring_step.index());
  };
}

const std::vector<UnlistedOp> kUnlisted = {
    {"OneHeadIsScaled", Direction::kForward, "'s block_out of ",
     [](Seams& seams, const Target& target) {
       change(seams, target, [](AttentionResult& b) { b.out.select(1, 0).mul_(1.1); });
     }},
    {"ARowIsLost", Direction::kForward, ", piece ",
     [](Seams& seams, const Target& target) {
       change(seams, target, [](AttentionResult& b) {
         const auto row = b.lse.size(2) - 1;
         b.out.select(2, row).zero_();
         b.lse.select(2, row).fill_(-std::numeric_limits<double>::infinity());
       });
     }},
    {"ARowIsZero", Direction::kForward, "'s block_out of ",
     [](Seams& seams, const Target& target) {
       change(seams, target,
              [](AttentionResult& b) { b.out.select(2, b.out.size(2) - 1).zero_(); });
     }},
    {"ABlocksLseIsOff", Direction::kForward, "'s block_lse of ",
     [](Seams& seams, const Target& target) {
       change(seams, target, [](AttentionResult& b) { b.lse.add_(0.5); });
     }},
    {"TheRunningLseIsOff", Direction::kForward, "running log-sum-exp after the merge",
     [](Seams& seams, const Target& target) {
       extend(seams.attention.running, [=](const SeamPlace& at, RunningResult& running) {
         if (target.is(at)) running.lse.add_(0.25);
       });
     }},
    {"ValuesAreShifted", Direction::kForward, "'s block_out of ",
     [](Seams& seams, const Target& target) {
       change(seams, target, [](AttentionResult& b) { b.out = b.out.roll(1, 3).contiguous(); });
     }},
    {"DkOfOneStageIsDoubled", Direction::kBackward, " adds to dk of ", doubleDk},
    {"DoutOfOneStageIsScaled", Direction::kBackward, " adds to d",
     [](Seams& seams, const Target& target) {
       extend(seams.attention.backward, [=](const SeamPlace& at, BackwardInputs& in) {
         if (target.is(at)) in.dout = in.dout * 1.5;
       });
     }},
};

/// Reports whether the mistake can be tried. In other runs it makes a row of a single block NaN in
/// backward, which has a name.
bool applies(const RunCase& run, const UnlistedOp& mistake) {
  if (mistake.name == "ARowIsLost") return run.strategy != Strategy::kUlysses;
  if (mistake.name == "DkOfOneStageIsDoubled") return run.strategy != Strategy::kAllGather;
  return true;
}

void expectPlaced(const RunCase& run, const traces::Trace& right, const UnlistedOp& mistake) {
  SCOPED_TRACE(run.name + " " + mistake.name);
  const Target target = targetOf(right, mistake.direction);
  Seams seams;
  mistake.make(seams, target);
  const auto diagnosis = traces::diagnose(*recordedWith(configOf(run), seams));
  const auto findings = diagnosis.findings();
  ASSERT_EQ(findings.size(), 1u) << traces::toText(diagnosis);
  const traces::Finding& finding = findings.front();
  EXPECT_EQ(finding.rule, traces::kUnknownMistake) << traces::toText(diagnosis);
  EXPECT_EQ(finding.place.layer, Layer::of(1));
  EXPECT_EQ(finding.place.direction, mistake.direction);
  const bool sums_travel = run.strategy != Strategy::kAllGather;
  if (mistake.direction == Direction::kForward || sums_travel) {
    EXPECT_EQ(finding.rank, target.rank) << finding.evidence;
    EXPECT_EQ(finding.place.stage, target.ring_step) << finding.evidence;
    const std::string block = target.source == target.rank
                                  ? "its own block"
                                  : "the block of rank " + toString(target.source);
    EXPECT_NE(finding.evidence.find(mistake.says), std::string::npos) << finding.evidence;
    EXPECT_NE(finding.evidence.find(" of " + block), std::string::npos) << finding.evidence;
  } else {
    EXPECT_EQ(finding.rank, target.rank) << "by dq: " << finding.evidence;
    EXPECT_EQ(finding.place.stage, target.ring_step) << finding.evidence;
    EXPECT_NE(
        finding.evidence.find("of the block of rank " + toString(target.source) + ", 1.5 times"),
        std::string::npos)
        << finding.evidence;
  }
}

class UnlistedMistakeTest : public testing::TestWithParam<RunCase> {};

TEST_P(UnlistedMistakeTest, IsPlacedAndGetsNoWrongName) {
  const auto right = recordedWith(configOf(GetParam()), {});
  EXPECT_TRUE(traces::diagnose(*right).findings().empty());
  for (const UnlistedOp& mistake : kUnlisted)
    if (applies(GetParam(), mistake)) expectPlaced(GetParam(), *right, mistake);
}

INSTANTIATE_TEST_SUITE_P(Matrix, UnlistedMistakeTest, testing::ValuesIn(kRuns),
                         [](const auto& tested) { return tested.param.name; });

TEST(UnlistedMistakesTest, AWrongResidualOnOneRankIsPlacedByItsRows) {
  const TrainConfig config = configOf({"", 4});
  Seams seams;
  extend(seams.model.embedded, [](const SeamPlace& at, at::Tensor& embedded) {
    if (at.worldRank() == WorldRank::of(2)) embedded = embedded * 1.05;
  });
  const auto findings = traces::diagnose(*recordedWith(config, seams)).findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, traces::kUnknownMistake);
  EXPECT_EQ(findings[0].rank, WorldRank::of(2)) << findings[0].evidence;
  EXPECT_TRUE(findings[0].place.stage.isNone());
  EXPECT_NE(findings[0].evidence.find("No attention of this step is wrong by itself"),
            std::string::npos)
      << findings[0].evidence;
}

TEST(UnlistedMistakesTest, AStaleMaskInOneLayerIsPlacedByWhatWasAttended) {
  const TrainConfig config = configOf({"", 4});
  const Target target = targetOf(*recordedWith(config, {}), Direction::kForward);
  Seams seams;
  extend(seams.attention.schedule,
         [=](const SeamPlace& at, const AttentionPlan&, RingSchedule& schedule) {
           if (!target.isLayer(at)) return;
           for (RingStage& stage : schedule.stages)
             if (stage.ring_step == target.ring_step) --stage.pieces.back().k_end;
         });
  const auto findings = traces::diagnose(*recordedWith(config, seams)).findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, traces::kUnknownMistake);
  EXPECT_EQ(findings[0].rank, target.rank) << findings[0].evidence;
  EXPECT_EQ(findings[0].place.stage, target.ring_step) << findings[0].evidence;
  EXPECT_EQ(findings[0].place.layer, Layer::of(1));
}

TEST(UnlistedMistakesTest, NamesTheCaptureWhenTheBlocksValuesAreMissing) {
  TrainConfig config = configOf({"", 4});
  const Target target = targetOf(*recordedWith(config, {}), Direction::kForward);
  config.capture = "stats";
  Seams seams;
  change(seams, target, [](AttentionResult& b) { b.lse.add_(0.5); });
  const auto findings = traces::diagnose(*recordedWith(config, seams)).findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, traces::kUnknownMistake);
  EXPECT_EQ(findings[0].rank, target.rank) << "by its rows";
  EXPECT_TRUE(findings[0].place.stage.isNone());
  EXPECT_NE(findings[0].evidence.find("--capture values:steps=0 keeps them"), std::string::npos)
      << findings[0].evidence;
}

}  // namespace
}  // namespace ringscope::engine

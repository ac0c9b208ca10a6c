// SPDX-License-Identifier: Apache-2.0
// Every ring step of random correct runs is right when it is recomputed.
#include "traces/analysis/verify/stage_check.h"

#include <gtest/gtest.h>

#include "tests/engine/random_runs.h"
#include "tests/support/campaign.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::engine {
namespace {

using test::RandomRun;
using traces::Direction;
using traces::Layer;

/// Draws a run whose layers can be recomputed: without dropout, because the dropped weights are not
/// recorded.
RandomRun runWithValues(std::mt19937& random) {
  for (;;) {
    RandomRun run = RandomRun::ofTraining(random, 8);
    if (run.training.dropout > 0) continue;
    run.training.capture = "full";
    return run;
  }
}

void expectRight(const traces::Trace& trace, Direction direction, test::Campaign& campaign) {
  for (const auto& members : traces::sequenceGroups(trace)) {
    const traces::LayerPass pass{0, Layer::of(1), 0};
    const auto check = traces::checkStages(trace, pass, members, direction, {}, 1e10);
    for (const traces::WrongStage& wrong : check.wrong)
      ADD_FAILURE() << name(direction) << ": " << name(wrong.kind) << " of rank "
                    << toString(wrong.rank) << " at ring step " << toString(wrong.ring_step)
                    << " of rank " << toString(wrong.source) << "'s block is off by "
                    << wrong.worst.ratio() << " " << wrong.attended;
    // With one rank, or with blocks that are gathered at once, no sums travel.
    const bool sums = trace.run()->cp > 1 && trace.run()->strategy != traces::Strategy::kAllGather;
    if (direction == Direction::kForward || sums) {
      EXPECT_GT(check.right, 0) << name(direction) << ": " << check.skipped;
    }
    campaign.largest("results", static_cast<double>(check.right));
  }
}

TEST(StageCheckTest, EveryRingStepOfARightRunIsRight) {
  for (test::Campaign campaign(8, 31); campaign.next();) {
    const RandomRun run = runWithValues(campaign.random());
    SCOPED_TRACE(campaign.text() + " " + run.text());
    test::TempDir dir;
    const auto trace = run.record(dir.file("a.rscope"));
    trace->readEvents();
    expectRight(*trace, Direction::kForward, campaign);
    expectRight(*trace, Direction::kBackward, campaign);
  }
}

}  // namespace
}  // namespace ringscope::engine

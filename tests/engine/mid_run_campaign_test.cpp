// SPDX-License-Identifier: Apache-2.0
// Mistakes that begin in the middle of a run: rejected with the reason, or named like any other
// mistake.
#include <gtest/gtest.h>

#include "tests/engine/injected_runs.h"
#include "tests/engine/named_in_recording.h"
#include "tests/support/campaign.h"
#include "traces/exchange/import/open_trace.h"

namespace ringscope::engine {
namespace {

using test::Injected;
using test::kMistakes;

/// Draws a training of four steps in which the mistake has an effect; everything is kept.
RandomRun longRunFor(const Injected& injected, std::mt19937& random) {
  for (;;) {
    RandomRun run = RandomRun::ofTraining(random, 8);
    run.training.steps = 4;
    run.training.capture = "full";
    if (injected.matters(run.spec())) return run;
  }
}

/// Records the run with the mistake from its second step on. Returns false when the mistake was
/// rejected.
bool recordMidRun(const RandomRun& run, const std::string& mistake, const std::string& path,
                  std::string& refused) {
  RunSwitches switches;
  TrainHooks hooks;
  hooks.switches = &switches;
  hooks.on_step = [&](const StepLog& log) {
    if (log.step != 0) return;
    try {
      EXPECT_GT(switches.inject(mistake), 0);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      refused = error.what();
    }
  };
  run.record(path, "", hooks);
  return refused.empty();
}

TEST(MidRunCampaignTest, AMistakeThatBeginsInTheMiddleIsRefusedOrNamedAlone) {
  std::vector<Injected> mistakes = kMistakes;
  std::erase_if(mistakes,
                [](const Injected& injected) { return !test::concernsTraining(injected); });
  constexpr std::size_t kStride = 3;  // the sample covers all subjects
  for (test::Campaign campaign(static_cast<int>(mistakes.size() / kStride), 17); campaign.next();) {
    const std::size_t at = campaign.number() * kStride;
    const Injected& injected = mistakes[(at + at / mistakes.size()) % mistakes.size()];
    const RandomRun run = longRunFor(injected, campaign.random());
    SCOPED_TRACE(campaign.text() + " " + injected.mistake + " " + run.text());
    test::TempDir dir;
    const auto right = run.record(dir.file("right.rscope"));
    std::string refused;
    if (!recordMidRun(run, injected.mistake, dir.file("wrong.rscope"), refused)) {
      EXPECT_TRUE(injectableMistake(injected.mistake).from_start_only ||
                  refused.find(injected.mistake) != std::string::npos)
          << refused;
      continue;
    }
    expectNamedIn(injected.mistake, run, *right, *traces::openTrace(dir.file("wrong.rscope")));
  }
}

}  // namespace
}  // namespace ringscope::engine

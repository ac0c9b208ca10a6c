// SPDX-License-Identifier: Apache-2.0
// Mistakes of configuration that a correct engine refuses, in random runs: the doctor names each
// alone.
#include <gtest/gtest.h>

#include "tests/engine/injected_runs.h"
#include "tests/support/campaign.h"
#include "traces/doctor/diagnosis.h"

namespace ringscope::engine {
namespace {

using test::RandomRun;

/// Draws a run, makes it one that is refused, and asks the doctor about it with the mistake.
void expectNamed(test::Campaign& campaign, const std::string& mistake,
                 bool (*change)(RandomRun& run, std::mt19937& random)) {
  RandomRun run;
  do {
    run = campaign.random()() % 2 ? RandomRun::ofAttention(campaign.random())
                                  : RandomRun::ofTraining(campaign.random());
  } while (run.spec().verify || !change(run, campaign.random()));
  SCOPED_TRACE(campaign.text() + " " + run.text());
  test::TempDir dir;
  EXPECT_THROW(run.record(dir.file("right.rscope")), Error);
  const auto trace = run.record(dir.file("wrong.rscope"), mistake);
  const auto diagnosis = traces::diagnose(*trace);
  const auto findings = diagnosis.findings();
  const bool of_shards = mistake == "uneven_shards";
  if (of_shards && run.spec().capture == "none") {
    EXPECT_TRUE(findings.empty()) << traces::toText(diagnosis);
    return;
  }
  ASSERT_EQ(findings.size(), 1u) << traces::toText(diagnosis);
  EXPECT_EQ(findings.front().rule, mistake) << traces::toText(diagnosis);
}

std::int64_t headsOf(const RandomRun& run) {
  return run.attention ? run.attention->in.q.size(1) : run.training.model.heads / run.training.tp;
}

TEST(DoctorCampaignTest, HeadsThatDoNotDivideAreNamedAlone) {
  for (test::Campaign campaign(4, 13); campaign.next();)
    expectNamed(campaign, "heads_not_divisible", [](RandomRun& run, std::mt19937&) {
      traces::RunSpec& spec =
          run.attention ? static_cast<traces::RunSpec&>(run.attention->config) : run.training;
      spec.strategy = traces::Strategy::kUlysses;
      spec.ulysses = 0;
      return spec.cp < headsOf(run) && headsOf(run) % spec.cp != 0;
    });
}

TEST(DoctorCampaignTest, ALengthThatDoesNotDivideIsNamedAlone) {
  for (test::Campaign campaign(4, 14); campaign.next();)
    expectNamed(campaign, "uneven_shards", [](RandomRun& run, std::mt19937& random) {
      const bool deals = traces::chosenBalance(run.spec()) == traces::Balance::kPerDocument;
      if (deals || run.spec().cp == 1) return false;
      const std::int64_t unit =
          traces::lengthUnit(traces::chosenBalance(run.spec()), run.spec().cp);
      if (run.attention) {
        run.attention->config.pad = false;
        const std::int64_t length = run.attention->in.q.size(2);
        return length > unit && length % unit != 0;
      }
      if (run.training.batch > run.training.dp) return false;
      run.training.seq_len += 1 + static_cast<std::int64_t>(random() % (unit - 1));
      return true;
    });
}

}  // namespace
}  // namespace ringscope::engine

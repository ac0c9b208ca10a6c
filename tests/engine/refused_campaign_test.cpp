// SPDX-License-Identifier: Apache-2.0
// Configuration mistakes that a correct engine rejects, and the one that ends a run, in random
// runs: the doctor names each of them alone.
#include <gtest/gtest.h>

#include "tests/engine/injected_runs.h"
#include "tests/support/campaign.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/ending.h"

namespace ringscope::engine {
namespace {

using test::RandomRun;

/// Draws a run, changes it into one that is rejected, and asks the doctor about it with the
/// mistake.
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

std::int64_t headsFor(const RandomRun& run) {
  return run.attention ? run.attention->in.q.size(1) : run.training.model.heads / run.training.tp;
}

TEST(DoctorCampaignTest, HeadsThatDoNotDivideAreNamedAlone) {
  for (test::Campaign campaign(4, 13); campaign.next();)
    expectNamed(campaign, "heads_not_divisible", [](RandomRun& run, std::mt19937&) {
      traces::RunSpec& spec =
          run.attention ? static_cast<traces::RunSpec&>(run.attention->config) : run.training;
      spec.strategy = traces::Strategy::kUlysses;
      spec.ulysses = 0;
      return spec.cp < headsFor(run) && headsFor(run) % spec.cp != 0;
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

// -------- a hop that is left out, for which its neighbours wait

/// Reports whether the run ended because of the mistake. The file has what was recorded until then.
bool findHangs(const RandomRun& run, const std::string& mistake, const std::string& path) {
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  sinks.push_back(std::make_unique<traces::SqliteSink>(path));
  traces::Recorder recorder(run.spec().worldSize(), std::move(sinks));
  try {
    run.run(&recorder, mistake, {});
    return false;
  } catch (const Error& error) {
    recorder.note(traces::kEndedNote, traces::endedNote({traces::HowEnded::kFailed, error.what()}));
    return true;
  }
}

/// Reports whether the ring has more than two ranks. With two, the rank that leaves out a hop may
/// do nothing more that is recorded.
bool hopsOverSeveralRanks(const traces::RunSpec& run) {
  return test::passesBlocksOn(run) && run.rotate != traces::Rotate::kAllGather &&
         run.cp / traces::ulyssesSize(run) > 2;
}

TEST(DoctorCampaignTest, AHopThatIsLeftOutIsNamedAlone) {
  constexpr std::chrono::milliseconds kPatience(400);
  for (test::Campaign campaign(4, 15); campaign.next();) {
    RandomRun run;
    do {
      run = campaign.random()() % 2 ? RandomRun::ofAttention(campaign.random())
                                    : RandomRun::ofTraining(campaign.random());
    } while (!hopsOverSeveralRanks(run.spec()));
    run.training.timeout = kPatience;
    if (run.attention) run.attention->config.timeout = kPatience;
    SCOPED_TRACE(campaign.text() + " " + run.text());
    test::TempDir dir;
    // the run has no such hop
    if (!findHangs(run, "dropped_hop", dir.file("wrong.rscope"))) continue;
    const auto diagnosis = traces::diagnose(*traces::openTrace(dir.file("wrong.rscope")));
    const auto findings = diagnosis.findings();
    ASSERT_EQ(findings.size(), 1u) << traces::toText(diagnosis);
    EXPECT_EQ(findings.front().rule, "dropped_hop") << traces::toText(diagnosis);
  }
}

}  // namespace
}  // namespace ringscope::engine

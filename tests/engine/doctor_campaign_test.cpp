// SPDX-License-Identifier: Apache-2.0
// The doctor on random runs. In a run with a mistake it finds that mistake and no other. In a
// correct run it finds nothing, even when parts of the recording are missing.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/engine/injected_runs.h"
#include "tests/engine/named_in_recording.h"
#include "tests/engine/shared_runs.h"
#include "tests/support/campaign.h"
#include "tests/support/rank_children.h"
#include "traces/analysis/doctor/checks.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/verify/recompute/loss.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/join/join_files.h"
#include "traces/format/trace/ending.h"

namespace ringscope::engine {
namespace {

using test::Injected;
using test::kMistakes;

/// Draws runs until the mistake changes a value in a run whose recording keeps what is needed.
void expectNamed(const Injected& injected, test::SharedRuns& runs, test::Campaign& campaign) {
  const std::string& mistake = injected.mistake;
  const bool of_wide_scores = mistake == "lse_overflow";
  int draws = 0;
  for (std::size_t number = 0;; ++number) {
    RandomRun run = runs.run(number);
    if (!test::canShowIn(injected, run)) continue;
    if (of_wide_scores) test::widenScores(run);
    SCOPED_TRACE(mistake + " " + run.text());
    const auto wrong = run.recordInMemory(mistake);
    const auto right = of_wide_scores ? test::SharedRuns::correctTrace(run) : runs.right(number);
    campaign.largest("draws", ++draws);
    if (expectNamedIn(mistake, run, *right, *wrong)) return;
  }
}

/// Returns all mistakes, or those that RINGSCOPE_ONLY=ID,ID names.
std::vector<Injected> askedMistakes() {
  const char* only = std::getenv("RINGSCOPE_ONLY");
  if (!only) return kMistakes;
  std::vector<Injected> asked;
  std::stringstream ids(only);
  for (std::string id; std::getline(ids, id, ',');) {
    const auto at = std::ranges::find(kMistakes, id, &Injected::mistake);
    if (at == kMistakes.end()) throw usageError("no mistake that the campaign injects is " + id);
    asked.push_back(*at);
  }
  return asked;
}

TEST(DoctorCampaignTest, AMistakeThatChangesAValueIsNamedFirstAndAlone) {
  const std::vector<Injected> mistakes = askedMistakes();
  std::optional<std::size_t> row;
  std::optional<test::SharedRuns> runs;
  for (test::Campaign campaign(static_cast<int>(mistakes.size()), 11); campaign.next();) {
    SCOPED_TRACE(campaign.text());
    if (const std::size_t now = campaign.number() / mistakes.size(); row != now) {
      row = now;
      runs.emplace(campaign.seed(), static_cast<unsigned>(now));
    }
    expectNamed(mistakes[campaign.number() % mistakes.size()], *runs, campaign);
  }
}

TEST(DoctorCampaignTest, ABalanceOfFullAttentionIsNamedAloneThoughNothingIsWrong) {
  for (test::Campaign campaign(2, 12); campaign.next();) {
    RandomRun run;
    do run = RandomRun::ofTraining(campaign.random());
    while (!test::isBalanced(run.spec()));
    traces::RunSpec& spec = run.training;
    if (traces::chosenBalance(spec) == traces::Balance::kPerDocument)
      spec.balance = traces::Balance::kHeadTail;
    spec.mask = traces::MaskKind::kFull;
    spec.window = 0;
    SCOPED_TRACE(campaign.text() + " " + run.text());
    test::TempDir dir;
    const auto trace = run.record(dir.file("a.rscope"), "balance_without_causal");
    const auto findings = traces::diagnose(*trace).findings();
    ASSERT_EQ(findings.size(), 1u) << traces::toText(traces::diagnose(*trace));
    EXPECT_EQ(findings.front().rule, "balance_without_causal");
  }
}

// -------- correct runs, whole and in parts

void expectNothingFound(const std::string& path) {
  try {
    const auto trace = traces::openTrace(path);
    trace->readEvents();
    const Diagnosis diagnosis = traces::diagnose(*trace);
    EXPECT_TRUE(diagnosis.findings().empty()) << traces::toText(diagnosis);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInput) << error.what();  // too little of the recording is
                                                                 // left
  }
}

/// Reports whether one of several ranks has all targets of a training step, so that its own loss is
/// right.
bool hasAllTargetsInOne(const traces::Trace& trace, const traces::RunSpec& spec) {
  for (int step = 0; step < spec.steps; ++step) {
    const traces::RankLosses losses = traces::rankLosses(trace, step);
    const auto with = std::ranges::count_if(
        losses.ranks, [](const traces::RankLoss& rank) { return rank.own.targets > 0; });
    if (losses.ranks.size() > 1 && with == 1) return true;
  }
  return false;
}

void whole(const RandomRun& run, const std::string& path) {
  const auto trace = run.record(path);
  const Diagnosis diagnosis = traces::diagnose(*trace);
  EXPECT_TRUE(diagnosis.findings().empty()) << traces::toText(diagnosis);
  if (run.attention || run.spec().capture != "full") return;
  const traces::RunSpec& spec = run.spec();
  // The dropped weights are not recorded, and FP8 may round more than a block's delta changes. So
  // the sums that backward used cannot be determined.
  int unseen = spec.dropout > 0 || spec.fp8 ? 1 : 0;
  // The dropped weights of rows with many keys cannot be determined.
  unseen += spec.dropout > 0;
  // Blocks that FP8 rounded, and results of dropout, do not determine q, k and v.
  unseen += spec.recompute && (spec.dropout > 0 || spec.fp8);
  // Nobody can tell whether that rank's loss alone was logged, or whether the loss of all ranks was
  // lost.
  if (hasAllTargetsInOne(*trace, spec)) unseen += 2;
  // Blocks that are gathered at once have no recorded hashes, which four rules need.
  if (spec.strategy == traces::Strategy::kAllGather) unseen += 4;
  EXPECT_LE(traces::countChecks(diagnosis).not_made, unseen) << traces::toText(diagnosis);
  EXPECT_TRUE(traces::isWithoutFinding(diagnosis)) << traces::headline(diagnosis);
}

/// Leaves what a broken transfer leaves: the first part of the file.
void cutShort(const RandomRun& run, const std::string& path, std::mt19937& random) {
  run.record(path);
  std::filesystem::resize_file(path, random() % std::filesystem::file_size(path));
  expectNothingFound(path);
}

/// Leaves what a broken disk leaves: a file with damaged pages.
void damaged(const RandomRun& run, const std::string& path, std::mt19937& random) {
  run.record(path);
  constexpr std::size_t kPage = 4096;
  const auto pages = std::filesystem::file_size(path) / kPage;
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  for (int lost = 1 + static_cast<int>(random() % 3); lost > 0; --lost) {
    file.seekp(static_cast<std::streamoff>((1 + random() % (pages - 1)) * kPage));
    file << std::string(kPage, static_cast<char>(random()));
  }
  file.close();
  expectNothingFound(path);
}

/// Lets a rank fail with an error at a random place.
void failed(const RandomRun& run, const std::string& path, std::mt19937& random) {
  const int world = run.spec().worldSize();
  const WorldRank rank = WorldRank::of(static_cast<int>(random() % static_cast<unsigned>(world)));
  int gates_left = static_cast<int>(random() % 40);
  TrainHooks hooks;
  hooks.at_gate = [&](WorldRank at, const traces::Place&) {
    if (at == rank && gates_left-- == 0) throw std::runtime_error("the cable was pulled");
  };
  std::string reason;
  {
    std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
    sinks.push_back(std::make_unique<traces::SqliteSink>(path));
    traces::Recorder recorder(world, std::move(sinks));
    try {
      run.run(&recorder, "", hooks);
    } catch (const Error& error) {
      reason = error.what();
      recorder.note(traces::kEndedNote, traces::endedNote({traces::HowEnded::kFailed, reason}));
    }
  }
  expectNothingFound(path);
  if (reason.empty()) return;  // the run has fewer places
  const Diagnosis diagnosis = traces::diagnose(*traces::openTrace(path));
  EXPECT_NE(reason.find("rank " + toString(rank)), std::string::npos) << reason;
  EXPECT_NE(traces::toText(diagnosis).find(reason), std::string::npos) << traces::toText(diagnosis);
  EXPECT_FALSE(traces::isWithoutFinding(diagnosis));
}

TEST(DoctorCampaignTest, ACorrectRunHasNoFindingHoweverMuchOfItIsLeft) {
  for (test::Campaign campaign(12, 5); campaign.next();) {
    test::TempDir dir;
    std::mt19937& random = campaign.random();
    const auto kind = random() % 8;
    const RandomRun run = kind < 6 && random() % 4 == 0 ? RandomRun::ofAttention(random)
                                                        : RandomRun::ofTraining(random);
    SCOPED_TRACE(campaign.text() + " kind " + std::to_string(kind) + " " + run.text());
    const std::string path = dir.file("a.rscope");
    if (kind < 4)
      whole(run, path);
    else if (kind == 4)
      cutShort(run, path, random);
    else if (kind == 5)
      damaged(run, path, random);
    else
      failed(run, path, random);
  }
}

// -------- rank processes that write one file each

constexpr int kMostProcesses = 4;

/// Returns the run of several processes that a number determines. The processes and the process
/// that starts them draw the same run.
RandomRun jobOf(unsigned number) {
  std::mt19937 random(number);
  for (;;) {
    RandomRun run = RandomRun::ofTraining(random, kMostProcesses);
    if (run.spec().worldSize() < 2) continue;
    run.training.launch = traces::Launch::kEnv;
    run.training.transport = traces::TransportKind::kGloo;
    run.training.verify = false;
    return run;
  }
}

TEST(RankProcess, RecordsItsPart) {
  const char* number = std::getenv("RINGSCOPE_TEST_JOB");
  if (!number) GTEST_SKIP() << "runs in the processes that DoctorCampaignTest starts";
  const RandomRun run = jobOf(static_cast<unsigned>(std::stoul(number)));
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  sinks.push_back(std::make_unique<traces::SqliteSink>(
      std::string(std::getenv("RINGSCOPE_TEST_FOLDER")) + "/part." + std::getenv("RANK")));
  traces::Recorder recorder(run.spec().worldSize(), std::move(sinks));
  recorder.note(traces::kClockNote, traces::describeClock(recorder.startNs()));
  Gate gate(1);
  runTraining(run.training, gate, &recorder);
}

TEST(DoctorCampaignTest, FilesOfACorrectJobHaveNoFindingAloneOrJoined) {
  for (test::Campaign campaign(2, 5); campaign.next();) {
    test::TempDir dir;
    std::mt19937& random = campaign.random();
    const unsigned number = random();
    const RandomRun run = jobOf(number);
    SCOPED_TRACE(campaign.text() + " " + run.text());
    const int ranks = run.spec().worldSize();
    const auto statuses = test::runAsRanks(ranks, "RankProcess.RecordsItsPart", [&](int) {
      ::setenv("RINGSCOPE_TEST_JOB", std::to_string(number).c_str(), 1);
      ::setenv("RINGSCOPE_TEST_FOLDER", dir.file("").c_str(), 1);
    });
    for (const int status : statuses) ASSERT_EQ(status, 0);
    std::vector<std::string> files;
    for (int rank = 0; rank < ranks; ++rank) {
      files.push_back(dir.file("part." + std::to_string(rank)));
      expectNothingFound(files.back());
    }
    traces::joinFiles(files, dir.file("all"));
    expectNothingFound(dir.file("all"));
    std::shuffle(files.begin(), files.end(), random);
    files.pop_back();
    traces::joinFiles(files, dir.file("some"));
    expectNothingFound(dir.file("some"));
  }
}

}  // namespace
}  // namespace ringscope::engine

// SPDX-License-Identifier: Apache-2.0
// Every mistake in many small runs: it changes a recorded fact, or it is rejected with the setting
// that shows it.
#include "tests/engine/mistake_effects.h"

#include <set>

#include "tests/support/campaign.h"
#include "traces/plan/run_rules.h"

namespace ringscope::engine {
namespace {

using ringscope::test::RandomRun;
using ringscope::test::RunResult;
using traces::Balance;
using traces::MaskKind;
using traces::Strategy;

/// Returns a training of two steps on the sample text.
TrainConfig smallTraining(int cp) {
  TrainConfig config;
  config.model = {"sample", 2, 128, 4, 2, 32, 256};
  config.text = {ringscope::test::sampleText()};
  config.cp = cp;
  config.seq_len = 48;
  config.steps = 2;
  config.capture = "full";
  config.timeout = std::chrono::milliseconds(400);
  return config;
}

/// Returns one attention over 4 query and 2 KV heads.
RandomRun smallAttention(
    int cp, std::int64_t length, const Mask& mask,
    void (*change)(AttendConfig& config) = [](AttendConfig&) {}) {
  at::manual_seed(1);
  const auto tensor = [&](std::int64_t heads) { return at::randn({1, heads, length, 8}); };
  ringscope::test::RandomAttention a;
  a.in = {tensor(4), tensor(2), tensor(2), tensor(4), mask, 0.4};
  a.config.command = traces::Command::kAttend;
  a.config.cp = cp;
  a.config.capture = "full";
  a.config.timeout = std::chrono::milliseconds(400);
  change(a.config);
  a.asked = a.config;
  a.asked.mask = mask.kind();
  a.asked.window = mask.window;
  a.asked.model = {"attention", 1, 0, 4, 2, 8, 0};
  return {{}, a};
}

struct SmallRun {
  std::string name;
  RandomRun run;
};

void addTraining(
    std::vector<SmallRun>& all, const char* name, int cp,
    void (*change)(TrainConfig& config) = [](TrainConfig&) {}) {
  TrainConfig config = smallTraining(cp);
  change(config);
  all.push_back({name, {config, std::nullopt}});
}

void packWords(TrainConfig& config) {
  config.mask = MaskKind::kDocuments, config.separator = " ";
}

/// Takes a model of tests/reference/family with its tokens.
void takeModel(TrainConfig& config, const std::string& name) {
  const std::string folder = ringscope::test::reference("family/" + name);
  config.model_dir = folder + "/model";
  config.tokens = folder + "/tokens.safetensors";
  config.model = {}, config.text = {};
}

void addMeshes(std::vector<SmallRun>& all) {
  addTraining(all, "one rank", 1);
  addTraining(all, "tp", 1, [](TrainConfig& c) { c.tp = 2; });
  addTraining(all, "dp", 1, [](TrainConfig& c) { c.dp = 2, c.batch = 4; });
  addTraining(all, "dp and cp", 2, [](TrainConfig& c) { c.dp = 2, c.batch = 4; });
  addTraining(all, "tp and cp", 2,
              [](TrainConfig& c) { c.tp = 2, c.dtype = traces::DType::kFloat64; });
}

void addStrategies(std::vector<SmallRun>& all) {
  addTraining(all, "ring", 2);
  addTraining(all, "no balance", 2, [](TrainConfig& c) { c.balance = Balance::kNone; });
  addTraining(all, "gathered ring", 3, [](TrainConfig& c) {
    c.rotate = Rotate::kAllGather, c.order = Order::kDiagonalLast, c.sinks = true;
  });
  addTraining(all, "all_gather", 2,
              [](TrainConfig& c) { c.strategy = Strategy::kAllGather, c.mask = MaskKind::kFull; });
  addTraining(all, "ulysses", 2,
              [](TrainConfig& c) { c.strategy = Strategy::kUlysses, c.sinks = true; });
  addTraining(all, "hybrid", 4, [](TrainConfig& c) {
    c.strategy = Strategy::kHybrid, c.ulysses = 2, c.rotate = Rotate::kAllToAll;
  });
  addTraining(all, "unequal heads", 3, [](TrainConfig& c) { c.strategy = Strategy::kUlysses; });
}

void addMasks(std::vector<SmallRun>& all) {
  addTraining(all, "window of one", 2,
              [](TrainConfig& c) { c.mask = MaskKind::kWindow, c.window = 1; });
  addTraining(all, "striped window", 4, [](TrainConfig& c) {
    c.mask = MaskKind::kWindow, c.window = 7, c.balance = Balance::kStriped;
  });
  addTraining(all, "wide window", 2,
              [](TrainConfig& c) { c.mask = MaskKind::kWindow, c.window = 48; });
  addTraining(all, "full mask with a balance", 2,
              [](TrainConfig& c) { c.mask = MaskKind::kFull, c.balance = Balance::kHeadTail; });
  addTraining(all, "documents on one rank", 1, packWords);
  addTraining(all, "documents", 2, packWords);
  addTraining(all, "one document", 2, [](TrainConfig& c) { c.mask = MaskKind::kDocuments; });
  addTraining(all, "dealt documents", 2,
              [](TrainConfig& c) { packWords(c), c.balance = Balance::kPerDocument; });
  addTraining(all, "a length that does not divide", 2, [](TrainConfig& c) { c.seq_len = 47; });
}

void addNumbers(std::vector<SmallRun>& all) {
  addTraining(all, "recomputed", 2, [](TrainConfig& c) { c.recompute = true; });
  addTraining(all, "recomputed bfloat16", 2,
              [](TrainConfig& c) { c.recompute = true, c.dtype = traces::DType::kBFloat16; });
  addTraining(all, "dropout", 2, [](TrainConfig& c) { c.dropout = 0.2; });
  addTraining(all, "FP8", 2, [](TrainConfig& c) { c.fp8 = true; });
  addTraining(all, "softcaps", 2, [](TrainConfig& c) { takeModel(c, "gemma2"); });
  addTraining(all, "two sequences", 2, [](TrainConfig& c) { c.batch = 2, c.max_norm = 0.1; });
  addTraining(all, "four sequences", 2, [](TrainConfig& c) { c.batch = 4; });
}

void addAttention(std::vector<SmallRun>& all) {
  all.push_back({"one rank's attention", smallAttention(1, 48, Mask::causalMask())});
  all.push_back({"attention", smallAttention(4, 48, Mask::causalMask())});
  all.push_back({"full attention", smallAttention(2, 48, Mask::full())});
  all.push_back({"a window's attention", smallAttention(2, 48, Mask::slidingWindow(9))});
  all.push_back({"documents' attention", smallAttention(2, 48, Mask::packed({0, 20, 48}, 48))});
  all.push_back({"padded attention",
                 smallAttention(2, 45, Mask::full(), [](AttendConfig& c) { c.pad = true; })});
  all.push_back({"heads' attention", smallAttention(2, 48, Mask::causalMask(), [](AttendConfig& c) {
                   c.strategy = Strategy::kUlysses;
                 })});
}

std::vector<SmallRun> smallRuns() {
  std::vector<SmallRun> all;
  addMeshes(all);
  addStrategies(all);
  addMasks(all);
  addNumbers(all);
  addAttention(all);
  return all;
}

/// Returns the mistake without limits, and limited to the first and the last of each unit.
std::vector<std::string> placesFor(const InjectableMistake& mistake, const traces::RunSpec& run) {
  std::vector<std::string> asked = {mistake.id};
  const bool trains = run.command == traces::Command::kTrain;
  const std::map<std::string, std::int64_t> counts = {
      {"rank", run.worldSize()}, {"layer", trains ? 2 : 1}, {"step", trains ? run.steps : 1}};
  for (const std::string& place : mistake.places) {
    const std::string named = mistake.id + ":" + place + "=";
    asked.push_back(named + "0");
    if (counts.at(place) > 1) asked.push_back(named + std::to_string(counts.at(place) - 1));
  }
  return asked;
}

/// Expects that an accepted mistake changes a fact, and that a rejected one names the setting that
/// shows it. Returns whether it was accepted.
bool expectChangedOrRefused(const RunResult& right, const RandomRun& run,
                            const std::string& mistake) {
  const RunResult wrong = ringscope::test::resultFor(run, mistake);
  if (wrong.refused()) {
    // The run itself cannot be carried out, with or without this mistake.
    if (right.refused() && std::string(right.error->what()) == wrong.error->what()) return false;
    ringscope::test::expectThreeParts(mistake, *wrong.error);
    return false;
  }
  EXPECT_TRUE(!ringscope::test::sameFacts(right, wrong) || ringscope::test::saysUnseen(wrong))
      << "it changed nothing";
  return true;
}

TEST(MistakeEffectsTest, AnAcceptedMistakeChangesARecordedFact) {
  std::set<std::string> made;
  std::size_t run = 0;
  for (const SmallRun& small : smallRuns()) {
    const RunResult right = ringscope::test::resultFor(small.run, "");
    std::size_t pair = run++;
    for (const InjectableMistake& mistake : injectableMistakes()) {
      // Every other pair, because the campaign of random runs has all.
      if (pair++ % 2 != 0 && made.contains(mistake.id)) continue;
      SCOPED_TRACE(mistake.id + " in " + small.name);
      if (expectChangedOrRefused(right, small.run, mistake.id)) made.insert(mistake.id);
    }
  }
  EXPECT_EQ(made.size(), injectableMistakes().size()) << "some are refused in all of these runs";
}

TEST(MistakeEffectsTest, AMistakeOfOnePlaceChangesAFactOrIsRefused) {
  std::vector<SmallRun> runs;
  addTraining(runs, "no balance", 2, [](TrainConfig& c) {
    c.balance = Balance::kNone, c.mask = MaskKind::kWindow, c.window = 30;
  });
  runs.push_back({"attention", smallAttention(3, 48, Mask::causalMask())});
  for (const SmallRun& small : runs) {
    const RunResult right = ringscope::test::resultFor(small.run, "");
    for (const InjectableMistake& mistake : injectableMistakes())
      for (const std::string& asked : placesFor(mistake, small.run.spec())) {
        if (asked == mistake.id || mistake.id == "dropped_hop") continue;  // this run hangs
        SCOPED_TRACE(asked + " in " + small.name);
        expectChangedOrRefused(right, small.run, asked);
      }
  }
}

TEST(MistakeEffectsTest, WithTheSettingThatIsNamedItChangesAFact) {
  for (const auto& bare : {smallTraining(1), smallTraining(2)})
    for (const InjectableMistake& mistake : injectableMistakes()) {
      if (traces::findMistake(mistake.id)->first_seen_in == traces::FirstSeenIn::kPadding)
        continue;  // the mistake concerns attend only
      RandomRun run{bare, std::nullopt};
      const auto reason = traces::reasonAgainst(bare, traces::AskedMistake::parse(mistake.id));
      if (!reason) continue;
      SCOPED_TRACE(mistake.id + ": " + *reason);
      if (mistake.id == "softcap_dropped" || mistake.id == "attention_scale_dropped")
        takeModel(run.training, "gemma2");
      ASSERT_TRUE(ringscope::test::meetNeeds(run.training, mistake.id));
      // The data may still hide the mistake, as the next message says.
      if (run.findRefusal(mistake.id).find("--mask documents") != std::string::npos) {
        packWords(run.training);
        run.training.balance.reset();
      }
      EXPECT_TRUE(expectChangedOrRefused(ringscope::test::resultFor(run, ""), run, mistake.id));
    }
}

TEST(MistakeEffectsTest, ARunReportsAtItsEndThatTheMistakeChangedNothing) {
  TrainConfig config = smallTraining(2);
  config.max_norm = 1e6;
  const RandomRun run{config, std::nullopt};
  EXPECT_TRUE(ringscope::test::saysUnseen(ringscope::test::resultFor(run, "clip_before_reduce")));
  EXPECT_TRUE(ringscope::test::saysUnseen(ringscope::test::resultFor(run, "lse_overflow")));
  EXPECT_FALSE(ringscope::test::saysUnseen(ringscope::test::resultFor(run, "")));
  RandomRun uncapped{smallTraining(2), std::nullopt};
  takeModel(uncapped.training, "gemma2_uncapped");
  EXPECT_TRUE(ringscope::test::saysUnseen(ringscope::test::resultFor(uncapped, "softcap_dropped")));
  config.mistakes = {"clip_before_reduce"};
  Gate gate(2);
  const auto sentences = runTraining(config, gate, nullptr).unseen_mistakes;
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_NE(sentences.front().find("use a smaller --max-norm"), std::string::npos);
}

TEST(MistakeEffectsTest, EqualTargetsAreFoundBeforeTheFirstStep) {
  const TrainConfig config = smallTraining(2);
  const RandomRun run{config, std::nullopt};
  const RunResult refused = ringscope::test::resultFor(run, "mean_of_local_means");
  ASSERT_TRUE(refused.refused());
  EXPECT_NE(std::string(refused.error->what()).find("all ranks have equally many targets"),
            std::string::npos);
  EXPECT_THROW(
      {
        TrainConfig wrong = config;
        wrong.mistakes = {"mean_of_local_means"};
        checkTraining(wrong);
      },
      Error);
}

// -------- random runs

/// Returns the mistake at a random place to which it can be limited, or without limits.
std::string anyPlace(const InjectableMistake& mistake, const traces::RunSpec& run,
                     std::mt19937& random) {
  auto asked = placesFor(mistake, run);
  return asked[random() % asked.size()];
}

TEST(MistakeEffectsCampaignTest, ARandomRunDiffersOrItsMistakeIsRefused) {
  const auto& mistakes = injectableMistakes();
  for (ringscope::test::Campaign campaign(96, 29); campaign.next();) {
    const InjectableMistake& mistake = mistakes[campaign.number() % mistakes.size()];
    RandomRun run = campaign.random()() % 3 ? RandomRun::ofTraining(campaign.random(), 8)
                                            : RandomRun::ofAttention(campaign.random());
    run.training.capture = "full";
    run.training.timeout = std::chrono::milliseconds(400);
    if (run.attention) {
      run.attention->config.capture = "full";
      run.attention->config.timeout = std::chrono::milliseconds(400);
    }
    const std::string asked = anyPlace(mistake, run.spec(), campaign.random());
    SCOPED_TRACE(campaign.text() + " " + asked + " " + run.text());
    expectChangedOrRefused(ringscope::test::resultFor(run, ""), run, asked);
  }
}

}  // namespace
}  // namespace ringscope::engine

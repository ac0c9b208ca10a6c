// SPDX-License-Identifier: Apache-2.0
// Two mistakes in one run: the doctor names both, the cause before what it explains.
#include <gtest/gtest.h>

#include <array>

#include "tests/engine/injected_runs.h"
#include "tests/engine/named_in_recording.h"
#include "tests/support/campaign.h"

namespace ringscope::engine {
namespace {

using test::Injected;
using test::kMistakes;

struct Pair {
  std::string first, second;
  RandomRun run;
};

/// Recordings of the same run without a mistake, with each of the two, and with both.
struct Recordings {
  std::shared_ptr<traces::Trace> right, first, second, both;
};

/// Draws two mistakes that both have an effect in a training of two steps that keeps everything.
Pair draw(std::mt19937& random) {
  for (;;) {
    RandomRun run = RandomRun::ofTraining(random, 8);
    run.training.steps = 2;
    run.training.capture = "full";
    std::vector<std::string> able;
    for (const Injected& injected : kMistakes)
      if (test::concernsTraining(injected) && injected.matters(run.spec()))
        able.push_back(injected.mistake);
    std::ranges::shuffle(able, random);
    if (able.size() > 1) return {able[0], able[1], run};
  }
}

std::shared_ptr<traces::Trace> record(const RandomRun& run, std::vector<std::string> mistakes,
                                      const std::string& path) {
  RandomRun wrong = run;
  wrong.training.mistakes = std::move(mistakes);
  return wrong.record(path);
}

/// Records all four runs; nullopt when a run with these mistakes does not finish.
std::optional<Recordings> recordAll(const Pair& pair, const test::TempDir& dir) {
  try {
    return Recordings{pair.run.record(dir.file("right.rscope")),
                      record(pair.run, {pair.first}, dir.file("first.rscope")),
                      record(pair.run, {pair.second}, dir.file("second.rscope")),
                      record(pair.run, {pair.first, pair.second}, dir.file("both.rscope"))};
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool changes(const traces::Trace& without, const traces::Trace& with) {
  return !test::sameValues(without, with) || !test::sameLogs(without, with);
}

/// Reports whether the mistake is named when it is alone and changes values beside the other too. A
/// mistake that undoes the other, or is undone by it, cannot be seen.
bool isSeen(const std::string& mistake, const traces::Trace& right, const traces::Trace& alone,
            const traces::Trace& other, const traces::Trace& both) {
  return findVerdict(traces::diagnose(alone), mistake) == Verdict::kFound &&
         changes(right, alone) && changes(other, both) && changes(alone, both) &&
         test::hidden(mistake, right, alone).empty() && test::hidden(mistake, other, both).empty();
}

/// Reports whether the mistake is found, or is a listed consequence of the other.
bool isNamedBeside(const std::string& mistake, const std::string& other,
                   const Diagnosis& diagnosis) {
  const auto& folded = traces::findMistake(other)->also_trips;
  return std::ranges::find(folded, mistake) != folded.end() ||
         findVerdict(diagnosis, mistake) == Verdict::kFound;
}

/// Reports whether a rule reports a consequence of one of the mistakes. A masked mistake may still
/// have visible consequences.
bool isEffectOf(const Pair& pair, const std::string& rule) {
  if (rule == traces::kUnknownMistake) return true;
  return std::ranges::any_of(std::array{pair.first, pair.second}, [&](const std::string& mistake) {
    const auto& effects = traces::findMistake(mistake)->also_trips;
    return std::ranges::find(effects, rule) != effects.end();
  });
}

/// Expects that both mistakes are named, and returns true. Returns false when one mistake masks the
/// other: the recording then matches neither the intended result nor the mistake alone. The rule of
/// the masked mistake must not call it clear, and something must be found.
bool expectBothNamed(const Pair& pair, const Diagnosis& diagnosis) {
  bool both = true;
  for (const auto& [mistake, other] :
       {std::pair(pair.first, pair.second), std::pair(pair.second, pair.first)}) {
    if (isNamedBeside(mistake, other, diagnosis)) continue;
    both = false;
    EXPECT_EQ(findVerdict(diagnosis, mistake), Verdict::kNotObservable)
        << mistake << " is called clear beside " << other;
  }
  EXPECT_FALSE(diagnosis.findings().empty());
  for (const traces::Finding& finding : diagnosis.findings())
    EXPECT_TRUE(finding.rule == pair.first || finding.rule == pair.second ||
                (!both && isEffectOf(pair, finding.rule)))
        << finding.rule;
  if (testing::Test::HasFailure()) std::printf("%s\n", traces::toText(diagnosis).c_str());
  return both;
}

TEST(MistakePairsTest, BothOfTwoMistakesAreNamedAndNothingElse) {
  for (test::Campaign campaign(3, 19); campaign.next();) {
    int masked = 0;
    for (bool named = false; !named && !HasFailure();) {
      const Pair pair = draw(campaign.random());
      SCOPED_TRACE(campaign.text() + " " + pair.first + " and " + pair.second + " " +
                   pair.run.text());
      test::TempDir dir;
      const auto runs = recordAll(pair, dir);
      if (!runs || !isSeen(pair.first, *runs->right, *runs->first, *runs->second, *runs->both) ||
          !isSeen(pair.second, *runs->right, *runs->second, *runs->first, *runs->both))
        continue;
      named = expectBothNamed(pair, traces::diagnose(*runs->both));
      masked += !named;
      std::printf("%s and %s: %s\n", pair.first.c_str(), pair.second.c_str(),
                  named ? "both named" : "one masks the other");
    }
    campaign.largest("masked_pairs_drawn_before", masked);
  }
}

}  // namespace
}  // namespace ringscope::engine

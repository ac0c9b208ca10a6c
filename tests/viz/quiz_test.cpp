// SPDX-License-Identifier: GPL-3.0-or-later
// The rounds of a quiz, its answers and its score sheet, without a window.
#include "viz/quiz/quiz.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/support/files.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/core/error.h"

namespace ringscope::viz {
namespace {

/// Returns the sample model's run over a text of the size of the sample's.
traces::RunSpec sample() {
  traces::RunSpec run;
  run.model.heads = 8;
  run.text = {test::sampleText()};
  return run;
}

TEST(QuizRounds, OneSeedGivesTheSameRoundsAgain) {
  EXPECT_EQ(drawRounds(sample(), 7, 8), drawRounds(sample(), 7, 8));
  EXPECT_NE(drawRounds(sample(), 7, 8), drawRounds(sample(), 8, 8));
}

TEST(QuizRounds, MoreRoundsBeginWithTheSameOnes) {
  const auto few = drawRounds(sample(), 7, 3), many = drawRounds(sample(), 7, 9);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(QuizRounds, NoMistakeComesTwiceInTenRounds) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    std::set<std::string> had;
    for (const QuizRound& round : drawRounds(sample(), seed, 10)) had.insert(round.mistake);
    EXPECT_EQ(had.size(), 10u) << "seed " << seed;
  }
}

TEST(QuizRounds, SixDifferentAnswersHoldTheRightOneAtAnyPlace) {
  std::set<std::ptrdiff_t> places;
  for (std::uint32_t seed = 1; seed <= 50; ++seed)
    for (const QuizRound& round : drawRounds(sample(), seed, 5)) {
      EXPECT_EQ(std::set(round.answers.begin(), round.answers.end()).size(), 6u);
      const auto at = std::ranges::find(round.answers, round.mistake);
      ASSERT_NE(at, round.answers.end());
      places.insert(at - round.answers.begin());
      const auto* mistake = traces::findMistake(round.mistake);
      for (const std::string& answer : round.answers) {
        ASSERT_TRUE(traces::findMistake(answer)) << answer;
        EXPECT_EQ(std::ranges::count(mistake->also_trips, answer), 0) << answer;
      }
    }
  EXPECT_EQ(places.size(), 6u);
}

TEST(QuizRounds, EveryStrategyOffersItsOwnMistakes) {
  std::set<traces::Strategy> strategies;
  std::set<traces::MaskKind> masks;
  for (std::uint32_t seed = 1; seed <= 30; ++seed)
    for (const QuizRound& round : drawRounds(sample(), seed, 5)) {
      strategies.insert(round.run.strategy);
      masks.insert(round.run.mask);
      const auto possible = quizMistakes(round.run);
      EXPECT_EQ(std::ranges::count(possible, round.mistake), 1);
    }
  EXPECT_EQ(strategies.size(), 3u);
  EXPECT_EQ(masks.size(), 3u);
}

TEST(QuizRounds, LeavesOutMistakesThatHangOrThatNumbersMayNotShow) {
  traces::RunSpec run = sample();
  run.capture = "full";
  const auto possible = quizMistakes(run);
  EXPECT_GE(possible.size(), 20u);
  for (const char* left_out : {"dropped_hop", "lse_overflow", "mean_of_local_means"})
    EXPECT_EQ(std::ranges::count(possible, left_out), 0) << left_out;
}

TEST(QuizState, StaysSealedUntilAnAnswerIsRevealed) {
  Quiz quiz(sample(), 3, 2);
  quiz.reveal();
  EXPECT_TRUE(quiz.isSealed()) << "no answer was given";
  quiz.next();
  EXPECT_EQ(quiz.round().number, 1);
  quiz.answer(quiz.round().answers.front(), 12);
  EXPECT_TRUE(quiz.isSealed());
  quiz.reveal();
  EXPECT_FALSE(quiz.isSealed());
  quiz.next();
  EXPECT_EQ(quiz.round().number, 2);
  EXPECT_TRUE(quiz.isSealed());
  EXPECT_TRUE(quiz.isLast());
}

TEST(QuizState, TakesOneAnswerPerRoundFromTheListOnly) {
  Quiz quiz(sample(), 3, 1);
  EXPECT_THROW(quiz.answer("no_such_mistake", 1), Error);
  quiz.answer(quiz.round().mistake, 12);
  quiz.answer(quiz.round().answers.back(), 20);
  quiz.skip(30);
  ASSERT_EQ(quiz.sheet().results().size(), 1u);
  EXPECT_TRUE(quiz.sheet().results()[0].isRight());
  EXPECT_EQ(quiz.sheet().results()[0].seconds, 12);
  EXPECT_EQ(quiz.sheet().countRight(), 1);
  EXPECT_THROW(Quiz(sample(), 3, 0), Error);
}

TEST(QuizState, KeepsEachLineOfEvidenceOnceUntilTheAnswer) {
  Quiz quiz(sample(), 3, 2);
  for (const char* line : {"Ring · rank 1", "Merge · rank 2", "Ring · rank 1"}) quiz.pin(line);
  EXPECT_EQ(quiz.evidence().size(), 2u);
  quiz.skip(5);
  quiz.pin("Tensor · rank 3");
  EXPECT_EQ(quiz.evidence().size(), 2u);
  EXPECT_STREQ(quiz.sheet().results()[0].word(), "no answer");
  quiz.reveal();
  quiz.next();
  EXPECT_TRUE(quiz.evidence().empty());
}

TEST(QuizState, EachHintCostsAPointAndIsCounted) {
  Quiz quiz(sample(), 3, 2);
  EXPECT_TRUE(quiz.hints().empty());
  quiz.takeHint();
  quiz.takeHint();
  ASSERT_EQ(quiz.hints().size(), 2u);
  const auto* mistake = traces::findMistake(quiz.round().mistake);
  EXPECT_NE(quiz.hints()[1].find(mistake->view), std::string::npos);
  EXPECT_TRUE(quiz.hasMoreHints());
  quiz.takeHint();
  EXPECT_FALSE(quiz.hasMoreHints());
  quiz.takeHint();
  quiz.answer(quiz.round().mistake, 9);
  EXPECT_EQ(quiz.sheet().results()[0].hints, 3);
  EXPECT_EQ(quiz.sheet().results()[0].points(), 1);
  quiz.reveal();
  quiz.next();
  EXPECT_TRUE(quiz.hints().empty());
}

TEST(QuizHints, NoneNamesTheMistake) {
  for (const std::string& id : quizMistakes(sample()))
    for (const std::string& hint : quizHints(id)) {
      const auto* mistake = traces::findMistake(id);
      EXPECT_GT(hint.size(), 10u);
      for (const std::string& name : {id, mistake->label, mistake->title})
        EXPECT_EQ(hint.find(name), std::string::npos) << hint;
    }
  EXPECT_THROW(quizHints("no_such_mistake"), Error);
}

TEST(QuizPlace, IsJudgedByTheFindingsOfTheMistake) {
  traces::Finding finding;
  finding.rule = "naive_sum_merge";
  finding.place.train_step = 1;
  finding.rank = traces::WorldRank::of(2);
  traces::Diagnosis diagnosis;
  diagnosis.entries.push_back({"naive_sum_merge", traces::found(finding)});
  const auto judged = [&](NamedPlace place) {
    return isPlaceRight(place, "naive_sum_merge", diagnosis);
  };
  EXPECT_EQ(judged({2, 1, {}}), true);
  EXPECT_EQ(judged({2, {}, {}}), true);
  EXPECT_EQ(judged({2, 0, {}}), false);
  EXPECT_EQ(judged({1, {}, {}}), false);
  EXPECT_EQ(judged({2, {}, 0}), false) << "the doctor names no layer";
  EXPECT_EQ(judged({}), std::nullopt);
  EXPECT_EQ(isPlaceRight({2, {}, {}}, "lse_base2", diagnosis), std::nullopt);
  EXPECT_EQ(NamedPlace({2, 1, 0}).describe(), "rank 2 · step 1 · layer 0");
}

TEST(QuizState, ThePlaceAndTheReasonStandInTheSheet) {
  Quiz quiz(sample(), 3, 1);
  quiz.explain({2, {}, {}}, "the ids restart");
  quiz.answer(quiz.round().mistake, 9);
  quiz.explain({1, {}, {}}, "too late");
  quiz.judgePlace({});
  EXPECT_FALSE(quiz.isPlaceJudged()) << "the round is sealed";
  quiz.reveal();
  traces::Finding finding;
  finding.rule = quiz.round().mistake;
  finding.rank = traces::WorldRank::of(2);
  traces::Diagnosis diagnosis;
  diagnosis.entries.push_back({finding.rule, traces::found(finding)});
  quiz.judgePlace(diagnosis);
  const QuizResult& result = quiz.sheet().results()[0];
  EXPECT_EQ(result.where, "rank 2");
  EXPECT_EQ(result.because, "the ids restart");
  EXPECT_EQ(result.where_right, true);
  EXPECT_EQ(result.points(), 5);
}

TEST(ScoreSheetFile, HasAHeaderAndOneQuotedLinePerRound) {
  ScoreSheet sheet;
  sheet.add({1,
             42,
             "ring",
             "head_tail",
             "causal",
             "a",
             "a",
             61,
             {"Ring, rank 1", "say \"x\""},
             2,
             "rank 1",
             true,
             "it is \"off\""});
  sheet.add({2, 42, "ulysses", "none", "causal", "", "b", 5, {}});
  const test::TempDir dir;
  sheet.save(dir.file("score.csv"));
  std::stringstream text;
  text << std::ifstream(dir.file("score.csv"), std::ios::binary).rdbuf();
  EXPECT_EQ(text.str(),
            "round,seed,strategy,balance,mask,answer,mistake,result,seconds,evidence,hints,where,"
            "where_result,because,points\r\n"
            "1,42,ring,head_tail,causal,a,a,right,61,\"Ring, rank 1; say \"\"x\"\"\",2,rank 1,"
            "right,\"it is \"\"off\"\"\",3\r\n"
            "2,42,ulysses,none,causal,,b,no answer,5,,0,,,,0\r\n");
  EXPECT_THROW(sheet.save(dir.file("missing/score.csv")), Error);
}

}  // namespace
}  // namespace ringscope::viz

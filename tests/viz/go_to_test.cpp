// SPDX-License-Identifier: GPL-3.0-or-later
// The words of a place, and the cursor that they lead to.
#include "viz/scene/go_to.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/viz/indexed_trace.h"
#include "tests/viz/recorded_ring.h"
#include "viz/scene/token_rows.h"
#include "viz/views/merge/merge_scene.h"

namespace ringscope::viz {
namespace {

using traces::Direction;

TEST(PlaceWordsTest, ReadsEveryPartInAnyOrderAndSpelling) {
  EXPECT_EQ(parsePlaceWords("token 137").token, TokenIndex::of(137));
  const PlaceWords pass = parsePlaceWords("layer 1 backward rank 2");
  EXPECT_EQ(pass.layer, Layer::of(1));
  EXPECT_EQ(pass.direction, Direction::kBackward);
  EXPECT_EQ(pass.rank, WorldRank::of(2));
  EXPECT_EQ(pass, parsePlaceWords("  RANK 2, Backward ·layer 1"));
  const PlaceWords step = parsePlaceWords("step 2 ring step 3");
  EXPECT_EQ(step.train_step, 2);
  EXPECT_EQ(step.ring_step, RingStep::of(3));
  EXPECT_EQ(step, parsePlaceWords("ring 3 training step 2"));
}

TEST(PlaceWordsTest, ReadsAHopWithEveryArrow) {
  const RankHop hop{WorldRank::of(3), WorldRank::of(0)};
  for (const char* words :
       {"hop 3→0", "hop 3->0", "hop 3 -> 0", "Hop 3 → 0", "hop 3>0", "hop 3 to 0"})
    EXPECT_EQ(parsePlaceWords(words).hop, hop) << words;
}

TEST(PlaceWordsTest, ReadsTheDescriptionOfAPlace) {
  for (const Place& place : {test::placeAt(1, 1, Direction::kBackward, 2), test::forwardAt(0, 3)}) {
    const PlaceWords words = parsePlaceWords(traces::describe(place));
    EXPECT_EQ(words.problem, "");
    EXPECT_EQ(words.train_step, place.train_step);
    EXPECT_EQ(words.layer, place.layer);
    EXPECT_EQ(words.direction, place.direction);
    EXPECT_EQ(words.ring_step, place.stage);
  }
}

TEST(PlaceWordsTest, RefusesOtherWordsInOneSentenceThatSaysWhatIsAccepted) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "Nothing was typed"},
      {"  ,", "Nothing was typed"},
      {"tokn 3", "“tokn” names no place"},
      {"137", "“137” names no place"},
      {"token", "“token” needs a number after it"},
      {"token x", "“token” needs a number after it, and “x” is none"},
      {"token -1", "“token” needs a number after it, and “-1” is none"},
      {"token 1.5", "and “1.5” is none"},
      {"layer 99999999999999999999", "“layer” needs a number after it"},
      {"rank 1 rank 2", "“rank” is given twice"},
      {"forward backward", "“forward or backward” is given twice"},
      {"hop 3", "“hop” needs two ranks with an arrow between them"},
      {"hop 3→", "“→” needs a number after it"},
      {"hop →3", "“hop” needs a number after it"},
      {"training 3", "“training” needs “step”"},
      {"→", "“→” names no place"},
  };
  for (const auto& [words, reason] : cases) {
    const std::string said = parsePlaceWords(words).problem;
    EXPECT_NE(said.find(reason), std::string::npos) << words << ": " << said;
    EXPECT_NE(
        said.find("; accepted are token 137, layer 1 backward rank 2, step 2 ring step 3 or hop"),
        std::string::npos)
        << words << ": " << said;
    EXPECT_EQ(std::ranges::count(said, '.'), words == std::string("token 1.5") ? 2 : 1) << said;
  }
}

class GoToTest : public testing::Test {
 protected:
  GoToTarget find(const std::string& words) const {
    return findTarget(*trace, from, parsePlaceWords(words));
  }
  Cursor found(const std::string& words) const {
    const GoToTarget target = find(words);
    EXPECT_TRUE(target.found) << words << ": " << target.sentence;
    return target.cursor;
  }
  std::string refusal(const std::string& words) const {
    const GoToTarget target = find(words);
    EXPECT_FALSE(target.found) << words;
    EXPECT_EQ(target.cursor, from) << words;
    return target.sentence;
  }

  std::shared_ptr<traces::Trace> trace = test::recordedTrace();
  Cursor from = test::IndexedTrace::at(test::forwardAt(0, 2), 1);
};

TEST_F(GoToTest, StaysAtThePartsThatWereNotNamed) {
  EXPECT_EQ(found("rank 3").place, from.place);
  EXPECT_EQ(found("rank 3").rank, WorldRank::of(3));
  EXPECT_EQ(found("ring step 1").place, test::forwardAt(0, 1));
  EXPECT_EQ(found("step 1").place, test::placeAt(1, 0, Direction::kForward, 0));
  EXPECT_EQ(found("layer 1 backward rank 2").place, test::placeAt(0, 1, Direction::kBackward, 0));
  EXPECT_EQ(found("step 1 ring step 3").place, test::placeAt(1, 0, Direction::kForward, 3));
  EXPECT_EQ(found("step 1 ring step 3").rank, WorldRank::of(1));
}

TEST_F(GoToTest, SelectsTheOwnerOfEveryToken) {
  std::vector<int> owned(4);
  for (int token = 0; token < 128; ++token) {
    const Cursor cursor = found("token " + std::to_string(token));
    EXPECT_EQ(cursor.token, TokenIndex::of(token));
    // head_tail over 4 ranks: 8 chunks of 16 tokens, chunk c and chunk 7 − c on one rank.
    const int chunk = token / 16;
    EXPECT_EQ(cursor.rank, WorldRank::of(std::min(chunk, 7 - chunk))) << token;
    const auto row = findTokenRow(*trace, 0, cursor.rank, cursor.token);
    ASSERT_TRUE(row);
    EXPECT_EQ(tokenAtRow(*trace, 0, cursor.rank, *row), cursor.token);
    EXPECT_EQ(makeMergeScene(*trace, cursor, {}).token, cursor.token) << "Merge shows its row";
    ++owned[cursor.rank.index()];
  }
  EXPECT_EQ(owned, std::vector<int>(4, 32));
}

TEST_F(GoToTest, FindsTokensOfStripedShardsAndSharedHeads) {
  test::RingRun run;
  run.balance = traces::Balance::kStriped;
  trace = test::recordedTrace(run);
  EXPECT_EQ(found("token 42").rank, WorldRank::of(2));
  run.balance = traces::Balance::kNone;
  run.ulysses = 4;
  trace = test::recordedTrace(run);
  EXPECT_EQ(found("token 100").rank, WorldRank::of(3));
}

TEST_F(GoToTest, GoesToTheNextRingStepInWhichTheHopIsUnderWay) {
  const Cursor cursor = found("hop 3→0");
  EXPECT_EQ(cursor.rank, WorldRank::of(3));
  EXPECT_EQ(cursor.place, test::forwardAt(0, 2)) << "the viewed ring step has the hop";
  EXPECT_GT(cursor.phase, 0);
  EXPECT_LT(cursor.phase, 1);
  const RingScene ring = makeRingScene(*trace, cursor);
  const auto packet = std::ranges::find_if(
      ring.packets, [](const auto& each) { return each.from == WorldRank::of(3); });
  ASSERT_NE(packet, ring.packets.end());
  EXPECT_EQ(packet->to, WorldRank::of(0));
  EXPECT_GT(cursor.phase, packet->begin);
  EXPECT_LT(cursor.phase, packet->end) << "the block is between the ranks";
  EXPECT_EQ(found("hop 3→0 layer 1 step 1").place.layer, Layer::of(1));
  EXPECT_EQ(found("hop 3→0 ring step 0").place, test::forwardAt(0, 0));
}

TEST_F(GoToTest, SaysWhatIsAcceptedWhenTheRecordingHasNoSuchPlace) {
  EXPECT_EQ(refusal("step 9"), "There is no step 9 here; accepted are steps 0, 1.");
  EXPECT_EQ(refusal("layer 7"), "There is no layer 7 here; accepted are layers 0, 1.");
  EXPECT_EQ(refusal("ring step 4"), "There is no ring step 4 here; accepted are ring steps 0–3.");
  EXPECT_EQ(refusal("rank 4"), "There is no rank 4 here; accepted are ranks 0–3.");
  EXPECT_EQ(refusal("token 128"), "There is no token 128 here; accepted are tokens 0 to 127.");
  EXPECT_EQ(refusal("token 0 rank 2"),
            "Rank 2 does not own token 0; accepted is “token 0” without a rank.");
  EXPECT_EQ(refusal("hop 3→1"),
            "Rank 3 sends nothing to rank 1 here; accepted are hops from it to "
            "rank 0.");
  EXPECT_NE(refusal("nowhere").find("accepted are token 137"), std::string::npos);
  trace = std::make_shared<traces::Trace>();
  EXPECT_NE(refusal("token 1").find("No ring step is recorded yet; accepted are"),
            std::string::npos);
}

TEST_F(GoToTest, DescribesTheTarget) {
  EXPECT_EQ(find("layer 1 backward rank 2").sentence,
            "step 0 › layer 1 › backward › ring step 0 · rank 2");
  EXPECT_EQ(find("token 17").sentence,
            "step 0 › layer 0 › forward › ring step 2 · rank 1 · token 17, local row 1");
}

}  // namespace
}  // namespace ringscope::viz

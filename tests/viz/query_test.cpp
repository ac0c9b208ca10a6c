// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/places.h"
#include "viz/views/query/query_scene.h"

namespace ringscope::viz {
namespace {

using test::sampleRecording;
using traces::Direction;
using traces::Layer;
using traces::RingStep;

QueryAnswer asked(const std::string& sql, std::size_t most = 1000) {
  RecordedFile file(sampleRecording());
  return ask(file, sql, most, [](std::size_t) { return false; });
}

TEST(QuestionsTest, EveryQuestionHasAnAnswer) {
  const Place place{0, Layer::of(1), Direction::kBackward, RingStep::of(2)};
  for (const Question& question : questionsAt(place)) {
    const QueryAnswer answer = asked(question.sql);
    EXPECT_EQ(answer.problem, "") << question.says;
    EXPECT_FALSE(answer.columns.empty()) << question.says;
  }
}

TEST(QuestionsTest, AQuestionAboutTheRingStepReturnsOnlyItsRows) {
  const Place place{0, Layer::of(1), Direction::kBackward, RingStep::of(2)};
  const QueryAnswer answer = asked(questionsAt(place).front().sql);
  ASSERT_FALSE(answer.rows.empty());
  for (std::size_t row = 0; row < answer.rows.size(); ++row)
    EXPECT_EQ(rowCursor(answer, row, Cursor())->place, place);
}

TEST(QueryAnswerTest, ARowLeadsToTheKnownPartsOfItsPlace) {
  const QueryAnswer answer = asked("SELECT 1 AS layer, 3 AS rank, 'backward' AS direction");
  Cursor from;
  from.place = {7, Layer::of(0), Direction::kForward, RingStep::of(2)};
  const auto to = rowCursor(answer, 0, from);
  ASSERT_TRUE(to);
  EXPECT_EQ(to->place, (Place{7, Layer::of(1), Direction::kBackward, RingStep::of(2)}));
  EXPECT_EQ(to->rank, WorldRank::of(3));
  EXPECT_FALSE(rowCursor(answer, 1, from)) << "there is no such row";
}

TEST(QueryAnswerTest, ARowWithoutAPlaceLeadsNowhere) {
  for (const char* sql : {"SELECT 1 AS one", "SELECT NULL AS rank", "SELECT -1 AS layer",
                          "SELECT 'x' AS stage", "SELECT 99999999999 AS train_step"})
    EXPECT_FALSE(rowCursor(asked(sql), 0, Cursor())) << sql;
}

TEST(QueryAnswerTest, TakesSoManyRowsAndSaysThatThereAreMore) {
  const QueryAnswer some = asked("SELECT * FROM events", 10), all = asked("SELECT 1", 1);
  EXPECT_EQ(some.rows.size(), 10U);
  EXPECT_EQ(describe(some), "the first 10 rows; there are more");
  EXPECT_EQ(describe(all), "1 row");
  EXPECT_EQ(describe(asked("SELECT 1 WHERE 0")), "no rows");
}

TEST(QueryAnswerTest, ReportsTheErrorOfAQuery) {
  EXPECT_NE(asked("SELECT nonsense").problem.find("no such column"), std::string::npos);
  EXPECT_NE(asked("DROP TABLE events").problem, "");
  RecordedFile missing("/no/such/file");
  EXPECT_NE(ask(missing, "SELECT 1", 1, [](std::size_t) { return false; }).problem, "");
}

TEST(QueryAnswerTest, AQueryThatWouldNotEndIsStopped) {
  int looks = 0;
  RecordedFile file(sampleRecording());
  const QueryAnswer answer = ask(
      file, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
      10, [&](std::size_t) { return ++looks > 3; });
  EXPECT_EQ(answer.problem, "");
  EXPECT_TRUE(answer.rows.empty());
  EXPECT_EQ(looks, 5) << "it is asked once more why the query has ended";
}

TEST(QueryAnswerTest, IsATableOfTabsForTheClipboard) {
  EXPECT_EQ(asTable(asked("SELECT 1 AS a, 'x\ty' AS b, NULL AS c")), "a\tb\tc\n1\tx y\t");
}

}  // namespace
}  // namespace ringscope::viz

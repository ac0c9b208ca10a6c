// SPDX-License-Identifier: Apache-2.0
// The waits between ranks, derived from what ranks report about themselves.
#include "traces/exchange/waits/who_waits.h"

#include <gtest/gtest.h>

#include "tests/support/place_at.h"
#include "traces/format/core/json.h"

namespace ringscope::traces {
namespace {

using test::rank;

constexpr std::int64_t kSecond = 1'000'000'000;

/// Returns a rank whose position this line states.
RankSeen seen(int number, const std::string& stands) {
  RankSeen seen;
  seen.rank = rank(number);
  seen.here = true;
  seen.standing = Standing::of(Line(parseJson(stands, "a line")));
  return seen;
}

/// Returns a collective of group "0" of four ranks, in which the rank has waited for 12 s.
std::string inCollective(const std::string& name, int nth, int bytes = 8192) {
  const std::string number = std::to_string(nth), size = std::to_string(bytes);
  return R"({"line":"stands","step":3,"quiet_ns":12000000000,"in":{"operator":")" + name +
         R"(","group":"0","nth":)" + number + R"(,"bytes":)" + size +
         R"(,"since_ns":12000000000},"groups":{"0":[0,1,2,3]},"posted":[{"group":"0","nth":)" +
         number + R"(,"last":[[)" + number + R"(,")" + name + R"(",)" + size + R"(]]}]})";
}

/// Returns a rank that has posted `posted` collectives and has computed since.
std::string computes(int posted, double for_s = 12) {
  return R"({"line":"stands","step":3,"quiet_ns":)" +
         std::to_string(static_cast<std::int64_t>(for_s * 1e9)) +
         R"(,"at":{"file":"train.py","number":41,"function":"load"},"groups":{"0":[0,1,2,3]},)"
         R"("posted":[{"group":"0","nth":)" +
         std::to_string(posted) + R"(,"last":[[)" + std::to_string(posted) +
         R"(,"all_reduce",8192]]}]})";
}

/// Returns a rank's end of the nth message from one rank to another.
std::string inMessage(const std::string& end, int from, int to, int nth, int posted) {
  const std::string ends =
      R"("from":)" + std::to_string(from) + R"(,"to":)" + std::to_string(to) + R"(,"tag":0)";
  return R"({"line":"stands","step":0,"quiet_ns":6000000000,"in":{"operator":")" + end +
         R"(","group":"0","nth":)" + std::to_string(nth) + "," + ends +
         R"(,"bytes":64,"since_ns":6000000000},"groups":{"0":[0,1]},"posted":[{"group":"0","kind":")" +
         end + R"(",)" + ends + R"(,"nth":)" + std::to_string(posted) + R"(,"last":[]}]})";
}

TEST(WhoWaits, NamesTheCollectiveTheRanksInItAndTheOneThatHasNotCome) {
  const auto waits =
      whoWaits({seen(0, inCollective("all_reduce", 17)), seen(1, computes(16)),
                seen(2, inCollective("all_reduce", 17)), seen(3, inCollective("all_reduce", 17))});
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].ranks, (std::vector{rank(0), rank(2), rank(3)}));
  EXPECT_EQ(waits[0].missing, std::vector{rank(1)});
  EXPECT_TRUE(hangs(waits, 10 * kSecond));
  EXPECT_FALSE(hangs(waits, 13 * kSecond));
  EXPECT_EQ(describeWaits(waits),
            (std::vector<std::string>{
                "ranks 0, 2 and 3 have waited in all_reduce 17 of ranks 0 to 3 (8 KiB) for "
                "12.0 s: rank 1 has not come there",
                "  rank 1 waits for nobody that is seen, at train.py:41 (load), in training step "
                "3; nothing was seen of it for 12.0 s"}));
}

TEST(WhoWaits, ARankThatHasGoneOnIsNotMissing) {
  const auto waits = whoWaits({seen(0, inCollective("all_reduce", 17)), seen(1, computes(18, 0)),
                               seen(2, computes(17, 0)), seen(3, computes(17, 0))});
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_TRUE(waits[0].missing.empty());
  EXPECT_FALSE(hangs(waits, 1));
}

TEST(WhoWaits, ReportsDifferentOperatorsAtOnePlace) {
  const auto waits =
      whoWaits({seen(0, inCollective("all_reduce", 5)), seen(1, inCollective("broadcast", 5)),
                seen(2, computes(5, 0)), seen(3, computes(5, 0))});
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].because, std::vector<std::string>{"rank 1 has posted broadcast there"});
  EXPECT_TRUE(hangs(waits, kSecond));
}

TEST(WhoWaits, ReportsSumsOfTensorsWithDifferentSizes) {
  const auto waits =
      whoWaits({seen(0, inCollective("all_reduce", 5)), seen(1, inCollective("all_reduce", 5, 64)),
                seen(2, computes(5, 0)), seen(3, computes(5, 0))});
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].because, std::vector<std::string>{"rank 1 has posted it with 64 B"});
}

TEST(WhoWaits, TwoRanksThatReceiveFromEachOtherWaitForEachOther) {
  const auto waits = whoWaits(
      {seen(0, inMessage("receive", 1, 0, 1, 1)), seen(1, inMessage("receive", 0, 1, 1, 1))});
  ASSERT_EQ(waits.size(), 2u);
  const auto lines = describeWaits(waits);
  EXPECT_EQ(lines.back(), "ranks 0 and 1 wait for each other: none of them can go on");
  EXPECT_NE(lines.front().find("message 1 from rank 0 to rank 1"), std::string::npos)
      << lines.front();
}

TEST(WhoWaits, AMessageWhoseOtherEndIsPostedIsNotWaitedFor) {
  const auto waits =
      whoWaits({seen(0, inMessage("send", 0, 1, 3, 3)), seen(1, inMessage("receive", 0, 1, 3, 3))});
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].ranks.size(), 2u);
  EXPECT_FALSE(hangs(waits, 1));
}

TEST(WhoWaits, DistinguishesRanksThatAreGoneEndedOrNeverCame) {
  RankSeen gone = seen(1, computes(16)), ended = seen(2, computes(16));
  gone.here = false;
  ended.ended = true;
  const auto waits = whoWaits({seen(0, inCollective("all_reduce", 17)), gone, ended});
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].because,
            (std::vector<std::string>{"rank 1 is gone: its connection has ended",
                                      "rank 2 has ended its recording",
                                      "rank 3 is not here: its recorder has not connected"}));
}

TEST(WhoWaits, RanksThatAreHeldAtABorderWaitForNobody) {
  RankSeen held = seen(0, inCollective("all_reduce", 17));
  held.paused = true;
  EXPECT_TRUE(whoWaits({held}).empty());
}

TEST(WhoWaits, AWaitWithinCodeThatIsNotSeenCountsOnceNothingElseIs) {
  const std::string posted =
      R"({"line":"stands","step":0,"quiet_ns":2000000000,"last":{"operator":"all_reduce",)"
      R"("group":"0","nth":2,"bytes":4},"groups":{"0":[0,1]},)"
      R"("posted":[{"group":"0","nth":2,"last":[[2,"all_reduce",4]]}]})";
  const std::string behind =
      R"({"line":"stands","step":0,"quiet_ns":9000000000,"groups":{"0":[0,1]},)"
      R"("posted":[{"group":"0","nth":1,"last":[[1,"all_reduce",4]]}]})";
  const auto waits = whoWaits({seen(0, posted), seen(1, behind)});
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].missing, std::vector{rank(1)});
}

TEST(WhoWaits, MalformedLinesMakeNoHang) {
  for (
      const char* line :
      {R"({"line":"stands"})", R"({"line":"stands","in":7,"posted":{},"groups":[]})",
       R"({"line":"stands","in":{"operator":"x","nth":-1},"posted":[1,{"last":[[1]]}]})",
       R"({"line":"stands","in":{"operator":"send","nth":9e99,"from":99999999},"groups":{"":[-1]}})",
       R"({"line":"stands","in":{"operator":"send","nth":1,"group":"g"},"groups":{"g":["a",0]}})"})
    EXPECT_FALSE(hangs(whoWaits({seen(0, line)}), 1)) << line;
}

TEST(DescribeRanks, ShortensConsecutiveRanks) {
  EXPECT_EQ(describeRanks({rank(1)}), "rank 1");
  EXPECT_EQ(describeRanks({rank(2), rank(0)}), "ranks 0 and 2");
  EXPECT_EQ(describeRanks({rank(0), rank(1), rank(2)}), "ranks 0 to 2");
  EXPECT_EQ(describeRanks({rank(0), rank(5), rank(2)}), "ranks 0, 2 and 5");
}

}  // namespace
}  // namespace ringscope::traces

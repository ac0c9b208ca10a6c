// SPDX-License-Identifier: Apache-2.0
// One line of a recorded rank's file.
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "traces/exchange/lines/lines.h"

namespace ringscope::traces {
namespace {

Line line(std::string_view text) {
  return Line::read(text, "the line");
}

TEST(Line, GivesWhatItsFieldsSay) {
  const Line hop = line(
      R"({"line":"hop","call":3,"moved":true,"scale":0.125,"group":"0","hash":"00000000000000ff",)"
      R"("rows":[0,8],"runs":[[0,4],[12,16]],"names":["a","b"],"ranks":[1,null,2],"peer":5})");
  EXPECT_EQ(hop.kind(), "hop");
  EXPECT_EQ(hop.whole("call"), 3);
  EXPECT_TRUE(hop.flag("moved"));
  EXPECT_EQ(hop.real("scale"), 0.125);
  EXPECT_EQ(hop.text("group"), "0");
  EXPECT_EQ(hop.hash("hash"), 255u);
  EXPECT_EQ(hop.wholes("rows"), (std::vector<std::int64_t>{0, 8}));
  EXPECT_EQ(hop.pairs("runs"),
            (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 4}, {12, 16}}));
  EXPECT_EQ(hop.texts("names"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(hop.ranks("ranks"),
            (std::vector{WorldRank::of(1), WorldRank::none(), WorldRank::of(2)}));
  EXPECT_EQ(hop.rank("peer"), WorldRank::of(5));
}

TEST(Line, AMissingFieldOrAnotherTypeReadsAsNone) {
  const Line odd = line(R"({"n":"3","x":1.5,"t":7,"l":[1,"2"],"p":[[1,0]],"o":[],"z":null})");
  EXPECT_EQ(odd.kind(), "");
  for (const char* key : {"n", "x", "l", "o", "z", "missing"}) EXPECT_EQ(odd.whole(key), -1) << key;
  EXPECT_EQ(odd.text("t"), "");
  EXPECT_FALSE(odd.real("n"));
  EXPECT_FALSE(odd.flag("t"));
  EXPECT_FALSE(odd.hash("n"));
  EXPECT_TRUE(odd.wholes("l").empty());
  EXPECT_TRUE(odd.pairs("p").empty());
  EXPECT_TRUE(odd.pairs("l").empty());
  EXPECT_FALSE(odd.part("o").has("x"));
  EXPECT_FALSE(odd.has("z"));
  EXPECT_TRUE(odd.has("o"));
  EXPECT_TRUE(odd.rank("n").isNone());
}

TEST(Line, TextsAreDecodedAndMadePlain) {
  const Line text = line("{\"line\":\"log\",\"a\":\"x\\u0041\\ty\",\"b\":\"\xC3\xA4\",\"c\":\"" +
                         std::string(1000, 'c') + "\"}");
  EXPECT_EQ(text.text("a"), "xA y");
  EXPECT_EQ(text.text("b"), "ä");
  EXPECT_LT(text.text("c").size(), 520u);
}

TEST(Line, TheLastOfARepeatedFieldCountsAsInADocument) {
  const Line twice = line(R"({"a":1,"b":2,"a":3})");
  EXPECT_EQ(twice.whole("a"), 3);
  EXPECT_EQ(twice.json()["a"], 3);
}

TEST(Line, PartsShareTheTextAndOutliveTheirLine) {
  Line part = line("{}");
  std::vector<Line> parts;
  {
    const Line whole = line(R"({"ring":{"group":"7","rank":1},"all":[{"n":1},2,{"n":3}]})");
    part = whole.part("ring");
    parts = whole.parts("all");
  }
  EXPECT_EQ(part.text("group"), "7");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].whole("n"), 3);
}

TEST(Line, HasTheFieldsOfADocument) {
  const Line made(nlohmann::json{{"line", "tensor"}, {"shape", {2, 3}}, {"name", "w\"\n"}});
  EXPECT_EQ(made.kind(), "tensor");
  EXPECT_EQ(made.wholes("shape"), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(made.text("name"), "w\" ");
  EXPECT_FALSE(Line(nlohmann::json::array({1})).has("line"));
}

TEST(Line, FallsBackToADocumentForOtherSyntax) {
  EXPECT_EQ(line("\xEF\xBB\xBF{\"line\":\"log\",\"step\":4}").whole("step"), 4);
}

TEST(Line, RejectsALineThatIsNoObject) {
  EXPECT_ERROR(line("{\"a\":NaN}"), ErrorCode::kInput, "the line: is not valid JSON");
  EXPECT_ERROR(line("[1]"), ErrorCode::kInput, "the line: is no JSON object");
  EXPECT_ERROR(line("{\"a\":" + std::string(100, '[')), ErrorCode::kInput, "levels deep");
}

}  // namespace
}  // namespace ringscope::traces

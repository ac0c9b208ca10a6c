// SPDX-License-Identifier: Apache-2.0
// Tensors that are not what a job asserts of them by spmd_types.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/recording_copy.h"
#include "tests/support/trace_builder.h"
#include "tests/traces/called_losses_notes.h"
#include "tests/traces/doctor_answers.h"
#include "traces/analysis/doctor/contradicted_types.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/asserted_types.h"

namespace ringscope::traces {
namespace {

/// Returns the assertion of a rank about a tensor on the axis cp of two ranks.
nlohmann::json asserted(const std::string& type, const std::string& hash,
                        const std::string& dtype = "int64") {
  return {{"microbatch", 0}, {"name", "targets"},
          {"dtype", dtype},  {"shape", "[1]"},
          {"hash", hash},    {"axes", {{"cp", {{"type", type}, {"members", {0, 1}}}}}}};
}

std::optional<Finding> foundIn(const nlohmann::json& first, const nlohmann::json& second) {
  const nlohmann::json note = {{"0", first}, {"1", second}};
  const auto trace =
      test::makeTrace(test::kForeign + "run cp=2\ngroup cp 0,1\ntensor logits rank=0\nnote " +
                      assertedTypesKey(0) + " " + note.dump() + "\n");
  return contradictedType(*trace);
}

std::optional<Finding> foundOf(const nlohmann::json& first, const nlohmann::json& second) {
  return foundIn(nlohmann::json::array({first}), nlohmann::json::array({second}));
}

TEST(AssertedTypesTest, ReplicatedNumbersThatDifferAreFound) {
  for (const char* type : {"R", "I"}) {
    const auto finding = foundOf(asserted(type, "a"), asserted(type, "b"));
    ASSERT_TRUE(finding) << type;
    EXPECT_EQ(finding->confidence, Confidence::kCertain);
    EXPECT_EQ(finding->buffer, "targets");
    EXPECT_TRUE(test::says(*finding, "on the axis cp")) << finding->evidence;
    EXPECT_TRUE(test::says(*finding, "differ between ranks 0 and 1")) << finding->evidence;
  }
}

TEST(AssertedTypesTest, FloatingPointContentsMakeItLikelyOnly) {
  const auto finding = foundOf(asserted("R", "a", "float32"), asserted("R", "b", "float32"));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->confidence, Confidence::kLikely);
}

TEST(AssertedTypesTest, OtherTypesMayDiffer) {
  EXPECT_FALSE(foundOf(asserted("R", "a"), asserted("R", "a"))) << "the same contents";
  EXPECT_FALSE(foundOf(asserted("V", "a"), asserted("V", "b"))) << "varying";
  EXPECT_FALSE(foundOf(asserted("P", "a"), asserted("P", "b"))) << "parts of a sum";
  EXPECT_FALSE(foundOf(asserted("R", "a"), asserted("V", "b"))) << "ranks assert other types";
  EXPECT_FALSE(foundOf(asserted("R", ""), asserted("R", "b"))) << "no hash";
}

TEST(AssertedTypesTest, AssertionsThatCannotBePairedAreNotCompared) {
  const nlohmann::json one = nlohmann::json::array({asserted("R", "a")});
  const nlohmann::json two = nlohmann::json::array({asserted("R", "b"), asserted("R", "a")});
  EXPECT_FALSE(foundIn(one, two));
}

TEST(AssertedTypesTest, ANoteThatIsNoListOfTypesIsLeftAlone) {
  for (const char* text : {R"("no")", R"([{"axes": {"cp": 7}}])", R"([{"axes": {"cp": {"type": "R",
       "members": [-1, 1e30, "x"]}}, "hash": 3}])"})
    EXPECT_FALSE(foundIn(nlohmann::json::parse(text), nlohmann::json::parse(text))) << text;
}

TEST(AssertedTypesTest, LinesOfARecordingAreRead) {
  const test::RecordingCopy copy;
  for (const char* file : test::kRankFiles) {
    std::vector<std::string> lines = copy.lines(file);
    const std::string hash = file == std::string(test::kFirstFile) ? "a" : "b";
    lines.insert(lines.end() - 1,
                 R"({"line":"asserted","step":0,"microbatch":0,"layer":null,"pass":"forward",)"
                 R"("name":"targets","dtype":"int64","shape":[2,3],"types":{"cp":"R"},)"
                 R"("cut_along":{},"members":{"cp":[0,1]},"hash":")" +
                     hash + "\"}\n");
    copy.put(file, std::accumulate(lines.begin(), lines.end(), std::string()));
  }
  const auto trace = openTrace(copy.path());
  const auto types = assertedTypes(*trace, 0, WorldRank::of(1));
  ASSERT_EQ(types.size(), 1U);
  EXPECT_EQ(types[0].shape, "[2,3]");
  EXPECT_EQ(types[0].axes.at("cp").members, (std::vector{WorldRank::of(0), WorldRank::of(1)}));
  EXPECT_TRUE(contradictedType(*trace));
}

}  // namespace
}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
// Profiles that a strict reader would refuse: without distributedInfo, with NaN, with damaged text.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/expect_error.h"
#include "tests/support/recording_copy.h"
#include "traces/exchange/import/kineto/cleaned_json.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/exchange/import/profile/rank_name.h"
#include "traces/format/trace/imported.h"

namespace ringscope::traces {
namespace {

using test::anySays;

class ProfileCopy : public test::RecordingCopy {
 public:
  ProfileCopy() : RecordingCopy(test::inSources("tests/reference/kineto")) {}
  void rename(const std::string& from, const std::string& to) const {
    std::filesystem::rename(file(from), file(to));
  }
};

std::string cleaned(const std::string& text) {
  std::istringstream in(text);
  CleanedJson clean(in);
  return {std::istreambuf_iterator<char>(&clean), {}};
}

TEST(KinetoRankName, FindsTheRankThatANameStates) {
  for (const char* name :
       {"rank3.json", "trace_rank_3.json", "a/Rank-3.json.gz", "rank3.17.pt.trace.json",
        "host_4711.3.pt.trace.json", "trace_3.json", "3.json"})
    EXPECT_EQ(rankInName(name), WorldRank::of(3)) << name;
  EXPECT_EQ(rankInName("rank00012.json"), WorldRank::of(12));
  for (const char* name : {"trace.json", "host_4711.1795871928993.pt.trace.json", "pid_4711.json",
                           "rank.json", "rank99999999999.json", "3rd/trace.json"})
    EXPECT_TRUE(rankInName(name).isNone()) << name;
}

TEST(ImportKinetoNames, RanksOfFilesWithoutDistributedInfoAreThoseOfTheirNames) {
  const ProfileCopy copy;
  for (int rank = 0; rank < 4; ++rank)
    copy.change("rank" + std::to_string(rank) + ".json", "\"distributedInfo\"", "\"other\"");
  copy.rename("rank0.json", "host_4711.0.pt.trace.json");
  copy.rename("rank1.json", "trace_rank_1.json");
  const auto trace = openTrace(copy.path());
  EXPECT_EQ(trace->worldSize(), 4);
  const auto imported = importedFrom(*trace);
  EXPECT_TRUE(anySays(imported->lacks, "4 files without distributedInfo"));
  EXPECT_GT(imported->collectives, 10);
  copy.rename("rank3.json", "last.json");
  EXPECT_ERROR(openTrace(copy.path()), ErrorCode::kInput, "let the file's name say it");
}

TEST(ImportKinetoNames, ANaNOrDamagedTextCostsNoOtherEvent) {
  const ProfileCopy copy;
  const auto expected = describe(*importedFrom(*openTrace(copy.path())));
  copy.change("rank0.json", "\"traceEvents\":[", "\"loss\": NaN, \"traceEvents\":[");
  copy.change("rank1.json", "\"traceEvents\":[", "\"text\": \"\xff\", \"traceEvents\":[");
  const auto trace = openTrace(copy.path());
  EXPECT_EQ(trace->problems().size(), 2U);
  EXPECT_TRUE(anySays(trace->problems(), "rank0.json: 1 value that is not valid JSON"));
  EXPECT_TRUE(anySays(trace->problems(), "rank1.json: 1 value that is not valid JSON"));
  EXPECT_EQ(describe(*importedFrom(*trace)), expected);
}

TEST(CleanedJson, ReplacesOnlyWhatIsNotValid) {
  const std::string valid =
      R"({"a": [-1.5e-7, true, false, null, "NaN \" \u00e4 \\"], "ä": -2E+3})";
  EXPECT_EQ(cleaned(valid), valid);
  EXPECT_EQ(cleaned("[NaN, -Infinity, inf, -nan]"), "[null, null, null, null]");
  EXPECT_EQ(cleaned("[\"a\xff\", \"\x01\", \"\\x\"]"), "[\"a\xef\xbf\xbd\", \" \", \"?x\"]");
  EXPECT_EQ(cleaned(""), "");
  EXPECT_EQ(cleaned("[\"cut"), "[\"cut");
  const std::string large = "\"" + std::string(3 << 20, 'x') + "\"";
  EXPECT_EQ(cleaned(large), large);
}

}  // namespace
}  // namespace ringscope::traces

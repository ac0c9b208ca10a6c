// SPDX-License-Identifier: Apache-2.0
// Recorded jobs whose microbatches have other tokens or other context-parallel groups.
#include <gtest/gtest.h>

#include <regex>

#include "tests/support/place_at.h"
#include "tests/support/recording_copy.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/verify/trace_check.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/lacks.h"
#include "traces/format/trace/own_tokens.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

using test::anySays;
using test::kRankFiles;
using test::rank;

/// Returns a line of the first microbatch as one of a second, with other ids and calls.
std::string asSecond(std::string line, const std::string& group) {
  static const std::regex kNumbers(
      "\"(id|call|forward_call|whole|shard|q|k|v|out|lse|dout|dq|dk|dv)\":([0-9]+)");
  line = std::regex_replace(line, kNumbers, "\"$1\":1000$2");
  line = std::regex_replace(line, std::regex("\"microbatch\":0"), "\"microbatch\":1");
  return std::regex_replace(line, std::regex("\"group\":\"0\""), "\"group\":\"" + group + "\"");
}

/// Adds a second microbatch, which does the same in this group, to the first training step of each
/// rank.
void addMicrobatch(const test::RecordingCopy& copy, const std::string& group,
                   const std::string& members) {
  for (const char* file : kRankFiles) {
    std::string text, second;
    for (const std::string& line : copy.lines(file)) {
      if (line.starts_with("{\"line\":\"step\",\"step\":0")) {
        text += "{\"line\":\"group\",\"name\":\"" + group + "\",\"members\":" + members + "}\n";
        text += second;
      }
      text += line;
      for (const char* kind : {"tensor", "buffer", "attention", "attention_end", "block"})
        if (line.starts_with("{\"line\":\"" + std::string(kind) + "\"") &&
            line.find("\"step\":0") != std::string::npos)
          second += asSecond(line, group);
    }
    copy.put(file, text);
  }
}

/// Returns the checks of layers of a microbatch that compared something.
std::vector<LayerCheck> checksOf(const TraceCheck& check, std::int32_t microbatch) {
  std::vector<LayerCheck> checks;
  for (const LayerCheck& layer : check.layers)
    if (layer.pass.microbatch == microbatch && !layer.tensors.empty()) checks.push_back(layer);
  return checks;
}

constexpr double kWork = 1e8;

TEST(ImportMicrobatches, AttentionIsJudgedWithinTheGroupOfItsMicrobatch) {
  const test::RecordingCopy copy;
  addMicrobatch(copy, "9", "[1,0]");
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(trace->problems().empty()) << trace->problems().front();
  EXPECT_TRUE(anySays(findLacks(*trace), "dynamic context parallelism"));
  EXPECT_TRUE(trace->groups().empty());
  using Groups = std::vector<std::vector<WorldRank>>;
  EXPECT_EQ(sequenceGroups(*trace, {0, 0}), (Groups{{rank(0), rank(1)}}));
  EXPECT_EQ(sequenceGroups(*trace, {0, 1}), (Groups{{rank(1), rank(0)}}));
  const TraceCheck check = checkLayers(*trace, kWork);
  EXPECT_TRUE(check.right());
  EXPECT_EQ(checksOf(check, 0).size(), 2u);
  ASSERT_EQ(checksOf(check, 1).size(), 2u);
  EXPECT_EQ(checksOf(check, 1).front().members, (std::vector{rank(1), rank(0)}));
  EXPECT_TRUE(diagnose(*trace).findings().empty()) << toText(diagnose(*trace));
}

TEST(ImportMicrobatches, TokensThatChangeAreThoseOfEachMicrobatch) {
  const test::RecordingCopy copy;
  addMicrobatch(copy, "0", "[0,1]");
  for (int i = 0; i < 2; ++i) {  // input_ids, labels
    copy.change(kRankFiles[0], R"("whole":1000)", R"("whole": 1000)");
    std::string text = copy.text(kRankFiles[0]);
    const auto buffer = text.find(R"("whole": 1000)"), at = text.find("[[0,4],[12,16]]", buffer);
    ASSERT_NE(at, std::string::npos);
    copy.put(kRankFiles[0], text.replace(at, 15, "[[4,12]]"));
  }
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(ownTokens(*trace, 0, rank(0), 8).empty()) << "they are no tokens of the whole step";
  EXPECT_EQ(ownTokens(*trace, 0, rank(0), 8, 0)[4], TokenIndex::of(12));
  EXPECT_EQ(ownTokens(*trace, 0, rank(0), 8, 1)[4], TokenIndex::of(8));
  EXPECT_EQ(ownTokens(*trace, 0, rank(1), 8, 1), ownTokens(*trace, 0, rank(1), 8))
      << "rank 1 has the same tokens in both";
}

TEST(ImportMicrobatches, BuffersThatAreCutAheadBelongToNoMicrobatch) {
  const test::RecordingCopy copy;
  for (const char* file : kRankFiles) {
    std::string text, cut;
    for (const std::string& line : copy.lines(file)) {
      text += line;
      if (!line.starts_with("{\"line\":\"buffer\"")) continue;
      cut =
          std::regex_replace(line, std::regex("\"tokens\":\\[\\[.*?\\]\\]"), "\"tokens\":[[4,12]]");
      text += cut;
    }
    ASSERT_FALSE(cut.empty());
    copy.put(file, text);
  }
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(trace->microbatchShards().empty());
}

}  // namespace
}  // namespace ringscope::traces

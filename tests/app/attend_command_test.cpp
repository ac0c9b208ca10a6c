// SPDX-License-Identifier: Apache-2.0
// `ringscope attend` without a file, and the options that attend and train share.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/files.h"
#include "tests/support/run_program.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/safetensors/safetensors.h"
#include "traces/format/trace/trace.h"

namespace ringscope {
namespace {

using nlohmann::json;
using test::expectOneSentence;
using test::reference;
using test::ringscope;
using test::sampleText;

TEST(AttendRandomTest, TheTutorialsExampleIsOneCommandThatPrintsItsTolerances) {
  const auto result = ringscope("attend --random 8,8,64,32 --dtype bfloat16 --verify");
  ASSERT_EQ(result.code, 0) << result.err;
  for (const char* tensor : {"out: ", "lse: ", "dq: ", "dk: ", "dv: "})
    EXPECT_NE(result.out.find(std::string("\n") + tensor + "largest error "), std::string::npos)
        << result.out;
  EXPECT_NE(result.out.find(" is tolerated"), std::string::npos);
  EXPECT_NE(result.out.find("with unsharded bfloat16, and tolerates 1e-3 × 4 ranks = 0.004"),
            std::string::npos)
      << result.out;
}

TEST(AttendRandomTest, WritesWhatItIsAskedForAndNotesWhatItWas) {
  test::TempDir dir;
  const std::string out = dir.file("o.safetensors"), trace = dir.file("t.rscope");
  const auto result = ringscope("attend --random 1,4,64,8,2 --seed 5 --cp 2 --verify --json -o " +
                                out + " --trace " + trace);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["random"], "1,4,64,8,2");
  EXPECT_EQ(traces::SafeTensorsFile::read(out).at("dk").shape,
            (std::vector<std::int64_t>{1, 2, 64, 8}));
  const json note = traces::openTrace(trace)->note("input");
  EXPECT_EQ(note["made"], "standard normal");
  EXPECT_EQ(note["seed"], 5);
  EXPECT_EQ(note["k"], (json{1, 2, 64, 8}));
}

TEST(AttendRandomTest, RankProcessesMakeTheSameNumbers) {
  const auto result = ringscope(
      "attend --random 1,4,64,8 --cp 3 --balance none --launch processes --p2p ordered --verify "
      "--pad");
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST(AttendRandomTest, RejectsImpossibleShapesWithOneSentence) {
  test::TempDir dir;
  const std::string input = reference("attention/causal.safetensors");
  expectOneSentence(ringscope("attend"), "give INPUT or --random B,H,S,D");
  expectOneSentence(ringscope("attend " + input), "--output is required");
  expectOneSentence(ringscope("attend --random 1,4,64,8 " + input), "leave one out");
  expectOneSentence(ringscope("attend --dtype float64 " + input + " -o " + dir.file("o")),
                    "INPUT has one of its own");
  expectOneSentence(ringscope("attend --random 1,2,3"), "has 3 numbers");
  expectOneSentence(ringscope("attend --random 0,0,0,0"), "each number is at least 1");
  expectOneSentence(ringscope("attend --random 1,1,99999999999,64"), "is too large");
  expectOneSentence(ringscope("attend --random 1,1,99999999999999999999,64 --launch processes"),
                    "is too large");
  expectOneSentence(ringscope("attend --random 1,4,63,8"), "does not divide");
  expectOneSentence(ringscope("attend --random 1,4,64,8 --mask documents"), "cu_seqlens");
}

TEST(SharedChoicesTest, RejectsOptionsThatCannotRunHereWithOneSentence) {
  const std::string attend = "attend --random 1,4,64,8 ",
                    text = "train --text " + sampleText() + " ";
  for (const std::string& command : {attend, text}) {
    expectOneSentence(ringscope(command + "--kernel efficient"), "--device cuda alone");
    expectOneSentence(ringscope(command + "--p2p ordered --strategy all_gather"),
                      "use --strategy ring or hybrid");
    expectOneSentence(ringscope(command + "--buffer labels"), "is not NAME:DIM");
    expectOneSentence(ringscope(command + "--buffer labels:1:kept"), "is not NAME:DIM");
    expectOneSentence(ringscope(command + "--buffer nonsense:1"), "there is no buffer 'nonsense'");
  }
  expectOneSentence(ringscope(attend + "--kernel flash --dropout 0.1"), "--kernel math or auto");
  expectOneSentence(ringscope(text + "--buffer labels:0"), "use --buffer labels:1");
}

const std::string kTokens = "--buffer input_ids:1 --buffer labels:1 ";

TEST(TrainBuffersTest, TheRotaryTableReplacesPositionIdsWithTheSameResults) {
  test::TempDir dir;
  const std::string train = "train --text " + sampleText() + " --steps 2 --seq-len 64 --verify ";
  const auto usual = ringscope(train + "--json");
  const std::string trace = dir.file("t.rscope");
  const auto result = ringscope(train + kTokens + "--buffer freqs_cis:0:restore --trace " + trace);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("buffers: input_ids along 1, left as a shard; labels along 1, left as "
                            "a shard; freqs_cis along 0, restored\n"),
            std::string::npos)
      << result.out;
  const auto recorded = traces::openTrace(trace);
  EXPECT_EQ(recorded->run()->buffers.back(), (traces::BufferChoice{"freqs_cis", 0, true}));
  const auto* shard = recorded->findShard("freqs_cis", 0, traces::WorldRank::of(1));
  ASSERT_NE(shard, nullptr);
  EXPECT_EQ(shard->seq_dim, 0);
  EXPECT_EQ(shard->local_shape.front() * 4, shard->full_shape.front());
  EXPECT_EQ(ringscope("doctor " + trace).code, 0);
  const auto again =
      json::parse(ringscope(train + kTokens + "--buffer freqs_cis:0:restore --json").out);
  EXPECT_EQ(again["steps"].back()["loss"], json::parse(usual.out)["steps"].back()["loss"]);
}

TEST(TrainBuffersTest, TheDoctorReportsPositionsMissingFromTheBuffers) {
  test::TempDir dir;
  const std::string trace = dir.file("t.rscope");
  EXPECT_EQ(ringscope("train --text " + sampleText() + " --steps 1 --seq-len 64 --verify " +
                      kTokens + "--trace " + trace)
                .code,
            1);
  const auto doctor = json::parse(ringscope("doctor --json " + trace).out);
  EXPECT_EQ(doctor["findings"].at(0)["rule"], "missing_position_ids");
}

TEST(TrainKernelTest, PlainProductsAndOrderedHopsTrainWithinTheLimits) {
  const auto result = ringscope("train --text " + sampleText() +
                                " --steps 2 --seq-len 64 --verify --kernel math --p2p ordered");
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

/// Most blocks lie outside this window. Leaving them out must not look like a plain sum.
TEST(AttendRandomTest, ACorrectAttentionOfANarrowWindowHasNoFinding) {
  test::TempDir dir;
  const auto attend = ringscope(
      "attend --random 1,2,64,8 --mask window --window 3 --cp 16 --verify --capture full --trace " +
      dir.file("a"));
  ASSERT_EQ(attend.code, 0) << attend.out << attend.err;
  const auto doctor = ringscope("doctor " + dir.file("a"));
  EXPECT_EQ(doctor.code, 0) << doctor.out;
}

/// Ten thousand comparisons, none of which may exceed its limit by chance.
TEST(TrainVerdictTest, TwoHundredCorrectStepsStayWithinTheirLimits) {
  test::TempDir dir;
  const auto train = ringscope("train --text " + sampleText() +
                               " --cp 2 --seq-len 32 --steps 200 --verify --capture none --trace " +
                               dir.file("a"));
  ASSERT_EQ(train.code, 0) << train.out << train.err;
  const auto diff = ringscope("diff --json " + dir.file("a"));
  EXPECT_EQ(diff.code, 0);
  EXPECT_GT(json::parse(diff.out)["compared"], 10'000) << diff.out.substr(0, 500);
}

}  // namespace
}  // namespace ringscope

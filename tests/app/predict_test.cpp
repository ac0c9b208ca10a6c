// SPDX-License-Identifier: Apache-2.0
// The statements of `ringscope predict` about floors, efficiency, and strategies that it cannot
// distinguish.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/places.h"
#include "tests/support/run_program.h"

namespace ringscope {
namespace {

using nlohmann::json;
using test::expectOneSentence;
using test::ringscope;

const std::string kRecorded = "predict " + test::sampleRecording() + " --link nvlink4";
const std::string kPlanned = "predict --cp 4 --seq-len 1024 --link nvlink4 --model " +
                             test::inSources("tests/reference/llama/model");

json answerFrom(const std::string& command) {
  const auto result = ringscope(command + " --json");
  EXPECT_EQ(result.code, 0) << command << ": " << result.err;
  return json::parse(result.out);
}

TEST(PredictTest, EveryDeviceNeedsTimeToLaunchKernels) {
  const json without =
      answerFrom(kRecorded + " --device h100 --kernel-floor 0 --collective-floor 0");
  const json with = answerFrom(kRecorded + " --device h100");
  EXPECT_GT(with["step_ns"].get<double>(), 2 * without["step_ns"].get<double>());
  EXPECT_EQ(with["limits"]["bound_by"], "launch");
  EXPECT_EQ(with["hardware"]["device"], "H100 SXM");
  EXPECT_EQ(with["hardware"]["efficiency"], 0.6);
  EXPECT_EQ(with["hardware"]["kernel_floor_us"], 2.4);
  EXPECT_EQ(with["hardware"]["collective_floor_us"], 8.4);
  const auto text = ringscope(kRecorded + " --device h100");
  EXPECT_NE(text.out.find("Launch-bound: kernels at their floor take "), std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("that is H100 SXM at 60 % of its peak rates"), std::string::npos);
  EXPECT_NE(text.out.find("each kernel takes at least 2.4 µs"), std::string::npos);
}

TEST(PredictTest, EfficiencyScalesADeviceAndNothingElse) {
  const double whole = answerFrom(kRecorded +
                                  " --device h100 --efficiency 1")["hardware"]["compute_scale"],
               half = answerFrom(kRecorded +
                                 " --device h100 --efficiency 0.5")["hardware"]["compute_scale"];
  EXPECT_NEAR(whole / half, 2, 1e-6);
  expectOneSentence(ringscope(kRecorded + " --efficiency 0.5"), "name one by --device");
}

TEST(PredictTest, ARecordedStepHasOnlyItsOwnLaunches) {
  const json as_recorded = answerFrom(kRecorded);
  EXPECT_EQ(as_recorded["hardware"]["kernel_floor_us"], 0);
  EXPECT_TRUE(as_recorded["hardware"]["device"].is_null());
  const json quicker = answerFrom(kRecorded + " --compute 4590");
  EXPECT_EQ(quicker["hardware"]["kernel_floor_us"], 2.4);
  EXPECT_EQ(quicker["limits"]["bound_by"], "launch");
  expectOneSentence(ringscope(kRecorded + " --kernel-floor -1"), "a floor needs a time in µs");
}

TEST(PredictTest, EveryStrategySaysWhatDeterminesIt) {
  const json answer = answerFrom(kPlanned);
  ASSERT_GT(answer["strategies"].size(), 2u);
  for (const json& each : answer["strategies"]) {
    EXPECT_TRUE(each["limits"].contains("bound_by"));
    EXPECT_EQ(each["limits"]["work_ns"], 0) << "a plan tells compute from memory";
  }
  EXPECT_FALSE(answer["quickest"]["titles"].empty());
  EXPECT_EQ(answer["quickest"]["uncertainty"], 0.05);
}

TEST(PredictTest, StrategiesWithEqualRowsAreNotRanked) {
  // With so many tokens attention takes nearly all of the step, however it is shared.
  const auto text = ringscope("predict --cp 4 --seq-len 262144 --link nvlink4 --model " +
                              test::inSources("tests/reference/llama/model"));
  EXPECT_EQ(text.out.find("would be the quickest"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("cannot tell"), std::string::npos) << text.out;
}

TEST(PredictTest, HelpNamesDefaultsAndTheirSources) {
  const auto help = ringscope("predict --help");
  for (const char* words : {"--efficiency", "--kernel-floor", "--collective-floor",
                            "FlashAttention-2", "arXiv:2504.11750", "NVIDIA/nccl"})
    EXPECT_NE(help.out.find(words), std::string::npos) << words;
}

}  // namespace
}  // namespace ringscope

// SPDX-License-Identifier: Apache-2.0
#include "traces/format/schema/run_spec.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace ringscope::traces {
namespace {

RunSpec fromText(const std::string& text) {
  RunSpec run;
  fromJson(nlohmann::json::parse(text), run, "run.json");
  return run;
}

TEST(RunSpecTest, ComesBackFromItsJson) {
  RunSpec run;
  run.strategy = Strategy::kHybrid;
  run.balance = Balance::kStriped;
  run.text = {"a", "b"};
  run.model.kv_heads = 2;
  run.verify = true;
  run.sinks = true;
  run.kernel = Kernel::kMath;
  run.p2p = PointToPoint::kOrdered;
  run.buffers = {{"freqs_cis", 0, true}};
  RunSpec back;
  fromJson(toJson(run), back, "itself");
  EXPECT_EQ(back, run);
  EXPECT_EQ(toJson(run)["strategy"], "hybrid");
}

TEST(RunSpecTest, SettingsThatAFileDoesNotNameKeepTheirDefault) {
  const RunSpec run = fromText(R"({"cp": 8, "mask": "window", "window": 64})");
  EXPECT_EQ(run.cp, 8);
  EXPECT_EQ(run.mask, MaskKind::kWindow);
  EXPECT_EQ(run.tp, 1);
  EXPECT_FALSE(run.balance);
}

TEST(RunSpecTest, NamesAnUnknownSettingWithItsFile) {
  EXPECT_ERROR(fromText(R"({"cpp": 8})"), ErrorCode::kInput, "run.json: there is no setting 'cpp'");
  EXPECT_ERROR(fromText(R"({"cp": "8"})"), ErrorCode::kInput, "'cp' has the wrong type");
  EXPECT_ERROR(fromText(R"({"cp": 8.5})"), ErrorCode::kInput, "'cp' has the wrong type");
  EXPECT_ERROR(fromText(R"({"cp": 99999999999})"), ErrorCode::kInput, "99999999999 as cp");
  EXPECT_ERROR(fromText(R"({"mask": "diagonal"})"), ErrorCode::kInput,
               "there is no mask 'diagonal'; use full, causal, window or documents");
  EXPECT_ERROR(fromText("[]"), ErrorCode::kInput, "is not a JSON object");
}

}  // namespace
}  // namespace ringscope::traces

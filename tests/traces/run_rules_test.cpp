// SPDX-License-Identifier: Apache-2.0
#include "traces/schema/run_rules.h"

#include <gtest/gtest.h>

#include <limits>

namespace ringscope::traces {
namespace {

RunSpec aRun() {
  RunSpec run;
  run.model.heads = 8;
  run.model.kv_heads = 4;
  return run;
}

/// The sentence, or nothing.
std::string refused(void (*change)(RunSpec&)) {
  RunSpec run = aRun();
  change(run);
  return refusal(run).value_or("");
}

TEST(RunRulesTest, AnOrdinaryRunIsNotRefused) {
  EXPECT_EQ(refusal(aRun()), std::nullopt);
  for (const auto strategy :
       {Strategy::kRing, Strategy::kAllGather, Strategy::kUlysses, Strategy::kHybrid})
    for (const auto mask : {MaskKind::kFull, MaskKind::kCausal, MaskKind::kWindow}) {
      RunSpec run = aRun();
      run.strategy = strategy;
      run.mask = mask;
      run.window = mask == MaskKind::kWindow ? 16 : 0;
      EXPECT_EQ(refusal(run), std::nullopt) << name(strategy) << " " << name(mask);
    }
}

TEST(RunRulesTest, EachRefusalSaysWhyAndWhatWouldWork) {
  const std::pair<void (*)(RunSpec&), const char*> cases[] = {
      {[](RunSpec& r) { r.cp = 0; }, "at least 1"},
      {[](RunSpec& r) {
         r.cp = 128;
         r.seq_len = 256;
       },
       "takes 64 at most"},
      {[](RunSpec& r) { r.mask = MaskKind::kWindow; }, "at least 1 key"},
      {[](RunSpec& r) {
         r.mask = MaskKind::kFull;
         r.balance = Balance::kStriped;
       },
       "use --balance none"},
      {[](RunSpec& r) { r.balance = Balance::kPerDocument; }, "use head_tail, striped or none"},
      {[](RunSpec& r) { r.tp = 3; }, "8 query heads do not divide among tp = 3"},
      {[](RunSpec& r) {
         r.cp = 16;
         r.strategy = Strategy::kUlysses;
       },
       "do not divide among 16 Ulysses ranks"},
      {[](RunSpec& r) {
         r.strategy = Strategy::kHybrid;
         r.ulysses = 3;
       },
       "does not divide cp = 4"},
      {[](RunSpec& r) { r.ulysses = 2; }, "leave it out"},
      {[](RunSpec& r) {
         r.batch = 3;
         r.dp = 2;
       },
       "does not divide among dp = 2"},
      {[](RunSpec& r) {
         r.mask = MaskKind::kDocuments;
         r.batch = 2;
       },
       "use --batch 1"},
      {[](RunSpec& r) { r.seq_len = 255; }, "such as 248 or 256"},
      {[](RunSpec& r) { r.launch = Launch::kProcesses; }, "needs --transport gloo or nccl"},
      {[](RunSpec& r) { r.transport = TransportKind::kNccl; }, "use local or gloo"},
      {[](RunSpec& r) { r.lr = std::numeric_limits<double>::quiet_NaN(); }, "--lr nan"},
      {[](RunSpec& r) { r.max_norm = 0; }, "--max-norm 0"},
      {[](RunSpec& r) { r.dropout = 1; }, "from 0 to below 1"},
      {[](RunSpec& r) {
         r.dropout = 0.1;
         r.verify = true;
       },
       "leave one out"},
  };
  for (const auto& [change, expected] : cases)
    EXPECT_NE(refused(change).find(expected), std::string::npos)
        << "'" << refused(change) << "' does not say '" << expected << "'";
}

TEST(RunRulesTest, HybridIsSplitAsSquarelyAsRanksAndHeadsAllow) {
  RunSpec run = aRun();
  run.strategy = Strategy::kHybrid;
  run.cp = 16;
  EXPECT_EQ(ulyssesSize(run), 4);
  run.model.heads = 6;
  EXPECT_EQ(ulyssesSize(run), 2);
  run.cp = 7;
  EXPECT_EQ(ulyssesSize(run), 1);
}

}  // namespace
}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/run_rules.h"

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

/// Returns the message of a refusal, or an empty text.
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
      {[](RunSpec& r) { r.balance = Balance::kPerDocument; }, "use none, head_tail or striped"},
      {[](RunSpec& r) { r.balance = Balance::kPtrr; }, "--balance ptrr deals documents"},
      {[](RunSpec& r) {
         r.mask = MaskKind::kDocuments;
         r.balance = Balance::kPerDocument;
         r.seq_len = 100;
       },
       "2·cp = 8 chunks, which per_document needs"},
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

TEST(RunRulesTest, AKernelThatCannotRunIsRefusedWithOneThatCan) {
  const std::pair<void (*)(RunSpec&), const char*> cases[] = {
      {[](RunSpec& r) { r.kernel = Kernel::kEfficient; }, "here use flash, math or auto"},
      {[](RunSpec& r) {
         r.kernel = Kernel::kFlash;
         r.dropout = 0.1;
       },
       "with --dropout use --kernel math or auto"},
      {[](RunSpec& r) {
         r.kernel = Kernel::kFlash;
         r.device = Device::kCuda;
       },
       "not float32; use efficient, math or auto"},
      {[](RunSpec& r) {
         r.kernel = Kernel::kEfficient;
         r.device = Device::kCuda;
         r.dtype = DType::kFloat64;
       },
       "takes no float64"},
      {[](RunSpec& r) {
         r.kernel = Kernel::kEfficient;
         r.device = Device::kCuda;
         r.mask = MaskKind::kWindow;
         r.window = 8;
       },
       "takes no mask of its own"},
      {[](RunSpec& r) {
         r.kernel = Kernel::kFlash;
         r.device = Device::kCuda;
         r.dtype = DType::kBFloat16;
         r.model.head_dim = 20;
       },
       "head sizes that 8 divides, up to 256, not 20"},
  };
  for (const auto& [change, expected] : cases)
    EXPECT_NE(refused(change).find(expected), std::string::npos)
        << "'" << refused(change) << "' does not say '" << expected << "'";
  for (const DType type : {DType::kFloat32, DType::kFloat64, DType::kBFloat16})
    for (const Kernel kernel : {Kernel::kAuto, Kernel::kFlash, Kernel::kMath}) {
      RunSpec run = aRun();
      run.kernel = kernel;
      run.dtype = type;
      EXPECT_EQ(refusal(run), std::nullopt) << name(kernel) << " " << name(type);
    }
}

TEST(RunRulesTest, OrderedHopsNeedARing) {
  for (const auto strategy : {Strategy::kAllGather, Strategy::kUlysses}) {
    RunSpec run = aRun();
    run.p2p = PointToPoint::kOrdered;
    EXPECT_EQ(refusal(run), std::nullopt);
    run.strategy = strategy;
    EXPECT_NE(refusal(run).value_or("").find("use --strategy ring or hybrid"), std::string::npos);
  }
}

TEST(RunRulesTest, AcceptsOnlyExistingBuffersAlongTheirSequence) {
  const auto refused_buffers = [](std::vector<BufferChoice> buffers, Command command) {
    RunSpec run = aRun();
    run.command = command;
    run.buffers = std::move(buffers);
    return refusal(run).value_or("");
  };
  const auto train = [&](std::vector<BufferChoice> buffers) {
    return refused_buffers(std::move(buffers), Command::kTrain);
  };
  const std::vector<BufferChoice> all = {
      {"input_ids", 1}, {"labels", 1, true}, {"position_ids", 1}, {"freqs_cis", 0, true}};
  EXPECT_EQ(train(all), "");
  const auto with = [&](BufferChoice more) {
    std::vector<BufferChoice> buffers = {{"input_ids", 1}, {"labels", 1}};
    buffers.push_back(std::move(more));
    return train(std::move(buffers));
  };
  EXPECT_EQ(with({"position_ids", 1}), "");
  EXPECT_NE(with({"positions", 1}).find("use input_ids, labels, position_ids or freqs_cis"),
            std::string::npos);
  EXPECT_NE(with({"position_ids", 0}).find("use --buffer position_ids:1"), std::string::npos);
  EXPECT_NE(with({"labels", 1}).find("names labels twice"), std::string::npos);
  EXPECT_NE(with({"freqs_cis", 0}).find("use --buffer freqs_cis:0:restore"), std::string::npos);
  EXPECT_NE(train({{"labels", 1}}).find("add --buffer input_ids:1"), std::string::npos);
  EXPECT_NE(refused_buffers({{"input_ids", 1}}, Command::kAttend).find("use q, k, v or dout"),
            std::string::npos);
  EXPECT_EQ(refused_buffers({{"q", 2}, {"k", 2}, {"v", 2}, {"dout", 2}}, Command::kAttend), "");
}

TEST(RunRulesTest, WithoutAChoiceAllBuffersButTheTableAreCutAndRestored) {
  EXPECT_EQ(chosenBuffers(RunSpec()),
            (std::vector<BufferChoice>{
                {"input_ids", 1, true}, {"labels", 1, true}, {"position_ids", 1, true}}));
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

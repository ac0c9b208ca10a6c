// SPDX-License-Identifier: Apache-2.0
// The allowed distance of numbers of a training step from the unsharded step.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/tensors/tensor_io.h"
#include "tests/engine/sample_training.h"

namespace ringscope::engine {
namespace {

/// Returns the end-to-end diff of a tensor in the first layer, or of a number.
traces::DiffRecord diffOf(const TrainOutcome& outcome, const std::string& tensor) {
  for (const auto& diff : outcome.diffs)
    if (diff.tensor == tensor && !diff.isolated) return diff;
  throw inputError("there is no diff of " + tensor);
}

/// Rounded to bfloat16, a loss between 4 and 8 is a multiple of 1/32. A limit of that size would
/// accept the result of a plain sum of blocks.
TEST(TrainingVerdictTest, TheLossOfPlainlyAddedBlocksIsBeyondItsLimitInBfloat16) {
  TrainConfig config = sampleConfig(4, 1);
  config.dtype = traces::DType::kBFloat16;
  config.verify = true;
  const auto right = diffOf(run(config), "loss");
  EXPECT_LE(right.ratio, 1);
  EXPECT_LT(right.limit, 1.0 / 64) << "half of what bfloat16 tells apart there";
  config.mistakes = {"naive_sum_merge"};
  EXPECT_GT(diffOf(run(config), "loss").ratio, 1);
}

/// Writes 64 tokens with positions that start at `first`.
std::string tokensFrom(std::int64_t first, const std::string& path) {
  const at::Tensor ids = at::arange(64).remainder(50).view({1, 1, 64});
  saveTensors(path, {{"input_ids", ids},
                     {"labels", at::roll(ids, -1, 2)},
                     {"position_ids", at::arange(first, first + 64).view({1, 1, 64})}});
  return path;
}

/// Angles in fp32 are less exact for larger positions. The reference uses the run's angles, so the
/// limit of q must not grow.
TEST(TrainingVerdictTest, TheLimitOfQIsNoWiderFarOut) {
  test::TempDir dir;
  TrainConfig config = sampleConfig(2, 1);
  config.text.clear();
  config.verify = true;
  config.tokens = tokensFrom(0, dir.file("near"));
  const auto near = diffOf(run(config), "q");
  config.tokens = tokensFrom(131'072, dir.file("far"));
  const auto far = diffOf(run(config), "q");
  EXPECT_LE(far.ratio, 1);
  EXPECT_LT(far.limit / far.scale, 4 * near.limit / near.scale);
}

}  // namespace
}  // namespace ringscope::engine

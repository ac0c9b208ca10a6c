// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <random>

#include "app/ringscope-engine/commands/bench.h"
#include "app/ringscope-engine/commands/verdict_tally.h"

namespace ringscope::app {

/// A type in which models are trained.
struct GradientType {
  const char* name;
  at::ScalarType type;
  bool fp8;
};
inline constexpr GradientType kGradientTypes[] = {{"float32", at::kFloat, false},
                                                  {"bfloat16", at::kBFloat16, false},
                                                  {"fp8", at::kBFloat16, true}};

/// Judges the gradient of each parameter of a random small Llama over a batch of at most `length`
/// tokens per sequence. Counts in `tally` how many altered rows the verdict misses. The errors of
/// one device come from `runs` runs with other tilings of attention and other orders of the
/// sequences. If `ranks` is given, the judged step attends in the blocks of a ring whose number of
/// ranks is one of them.
void judgeGradients(const GradientType& type, const BenchOptions& options, std::mt19937& random,
                    VerdictTally& tally);

}  // namespace ringscope::app

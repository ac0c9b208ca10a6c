// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "traces/format/schema/records.h"

namespace ringscope::viz {

/// How a category of memory is named and drawn, the same in every view.
struct CategoryStyle {
  traces::MemoryCategory category;
  const char* title;
  const char* color;
};

/// From the bottom of a stack to its top. Verification and captured copies are not among them: the
/// training step does not need them.
inline constexpr CategoryStyle kCategoryStyles[] = {
    {traces::MemoryCategory::kWeights, "weights", "#5B8DBE"},
    {traces::MemoryCategory::kGradients, "gradients", "#7FA7A0"},
    {traces::MemoryCategory::kOptimizer, "optimizer", "#8C97A4"},
    {traces::MemoryCategory::kActivations, "activations", "#5FA98C"},
    {traces::MemoryCategory::kQ, "Q", "#D9B45B"},
    {traces::MemoryCategory::kKv, "KV", "#C89A3C"},
    {traces::MemoryCategory::kInFlight, "in flight", "#C7849F"},
    {traces::MemoryCategory::kOutLse, "out, lse", "#8F86D0"},
    {traces::MemoryCategory::kOther, "other", "#6B7785"},
};

}  // namespace ringscope::viz

// SPDX-License-Identifier: Apache-2.0
// The running lse of fp32 has more significant bits than a type of 16 bits: where all of a rank's
// fit into one, it was kept in that.
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "traces/analysis/doctor/rule.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// Of one rank in one layer; finite and not 0.
struct Kept {
  const TensorRecord* first = nullptr;
  std::set<double> values;
  bool fits_bfloat16 = true;
  int tensors = 0;
};

/// Any number is by chance one of 2^16 that are not; so many different ones are not all.
constexpr std::size_t kEnough = 4;

bool isBFloat16(double value) {
  const auto rounded = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &rounded, sizeof(bits));
  return static_cast<double>(rounded) == value && (bits & 0xffff) == 0;
}

bool isNarrow(DType dtype) {
  return dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

Finding finding(const TensorRecord& lse, const std::string& evidence) {
  Finding f;
  f.rule = "lse_low_precision";
  f.severity = "error";
  f.confidence = "certain";
  f.title = "The running log-sum-exp is kept in a type of 16 bits";
  f.place = lse.place;
  f.rank = lse.rank;
  f.buffer = "running_lse";
  f.evidence = evidence;
  f.remedy =
      "Keep the running out and lse in fp32 from the first block to the last, whatever the type of "
      "q, k and v, and round out once, after the last merge.";
  return f;
}

}  // namespace

RuleResult checkLseLowPrecision(const Trace& trace) {
  std::map<std::tuple<std::int32_t, Layer, WorldRank>, Kept> layers;
  for (const TensorRecord& lse : trace.tensors()) {
    if (lse.tensor.kind != TensorKind::kRunningLse) continue;
    if (isNarrow(lse.dtype))
      return found(finding(lse, std::string("running_lse is recorded as ") + name(lse.dtype) +
                                    ", so each merge loses all but its first bits."));
    Kept& kept = layers[{lse.place.train_step, lse.place.layer, lse.rank}];
    if (!kept.first) kept.first = &lse;
    if (!kept.fits_bfloat16) continue;
    const auto values = trace.values(lse);
    if (!values) continue;
    ++kept.tensors;
    for (const double value : *values) {
      if (!std::isfinite(value) || value == 0) continue;
      kept.fits_bfloat16 = kept.fits_bfloat16 && isBFloat16(value);
      if (kept.values.size() < kEnough) kept.values.insert(value);
    }
  }
  bool precise = false;
  const Kept* few = nullptr;
  for (const auto& [at, kept] : layers) {
    precise = precise || !kept.fits_bfloat16;
    if (!kept.fits_bfloat16 || kept.tensors == 0) continue;
    if (kept.values.size() < kEnough)
      few = &kept;
    else
      return found(finding(
          *kept.first, "Every value of running_lse after " + describeCount(kept.tensors, "block") +
                           " of this layer is one that bfloat16 has, though the type is " +
                           name(kept.first->dtype) +
                           ": it was rounded to bfloat16 between merges."));
  }
  if (few && !precise)
    return undecided("needs more different values of running_lse than the " +
                     std::to_string(few->values.size()) + " that a rank has");
  return precise ? clear() : notObservable("needs the values of running_lse");
}

}  // namespace ringscope::traces

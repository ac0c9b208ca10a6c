// SPDX-License-Identifier: Apache-2.0
// The differences of gradients of the output projection from sums of the ranks' parts.
#include <algorithm>
#include <cmath>

#include "traces/analysis/verify/recompute/head_parts.h"
#include "traces/analysis/verify/recompute/least_squares.h"
#include "traces/format/trace/capture_advice.h"

namespace ringscope::traces {
namespace {

using Values = std::vector<double>;

/// Returns the sum of parts that an owner has of a slice.
Values weighted(const HeadParts& head, std::size_t slice, std::size_t owner,
                const PartWeights& weights) {
  Values sum(head.slices[slice].parts.front().size(), 0);
  for (std::size_t part = 0; part < head.owners.size(); ++part) {
    const double weight = weights(slice, owner, part);
    const Values& values = head.slices[slice].parts[part];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * values[i];
  }
  return sum;
}

/// The squared norms of two vectors and of their difference, summed slice by slice.
struct Squares {
  double left = 0, right = 0, off = 0;

  void add(const Values& a, const Values& b) {
    left += dot(a, a);
    right += dot(b, b);
    const double apart = distance(a, b, 1);
    off += apart * apart;
  }
  double share() const {
    const double size = std::max(left, right);
    return size > 0 ? std::sqrt(off / size) : 0;
  }
};

double asMeant(std::size_t, std::size_t, std::size_t) {
  return 1;
}

}  // namespace

GradientCheck checkGradient(const Trace& trace, std::int32_t train_step) {
  GradientCheck check;
  check.parameter = "the output projection";
  try {
    const HeadParts head = headParts(trace, train_step);
    const ShareOff off = worstShareOff(head, asMeant);
    check.parameter = head.parameter;
    check.off = off.share;
    check.limit = head.rounding;
    check.open = head.open;
    if (!head.alike) check.rank = off.rank;
  } catch (const MissingTensor& missing) {
    check.skipped =
        missing.why + (missing.recorded ? "" : "; " + captureAdvice(trace, "full", "records them"));
  }
  return check;
}

ShareOff worstShareOff(const HeadParts& head, const PartWeights& weights) {
  ShareOff worst{0, head.owners.front().rank};
  for (std::size_t owner = 0; owner < head.owners.size(); ++owner) {
    Squares squares;
    for (std::size_t s = 0; s < head.slices.size(); ++s)
      if (!head.slices[s].products[owner].empty())
        squares.add(head.slices[s].products[owner], weighted(head, s, owner, weights));
    if (squares.share() > worst.share) worst = {squares.share(), head.owners[owner].rank};
  }
  return worst;
}

double shareFromMeant(const HeadParts& head, const PartWeights& weights) {
  double worst = 0;
  for (std::size_t owner = 0; owner < head.owners.size(); ++owner) {
    Squares squares;
    for (std::size_t s = 0; s < head.slices.size(); ++s)
      squares.add(weighted(head, s, owner, asMeant), weighted(head, s, owner, weights));
    worst = std::max(worst, squares.share());
  }
  return worst;
}

}  // namespace ringscope::traces

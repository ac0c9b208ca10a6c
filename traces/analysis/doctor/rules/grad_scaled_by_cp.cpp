// SPDX-License-Identifier: Apache-2.0
// The gradients after the sync against those of the loss over all targets: is there a factor of cp?
#include "traces/analysis/doctor/gradient_scale.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// Clipping makes gradients smaller, never larger.
bool mayBeClipped(const GradientScale& g) {
  return g.verdicts == 0 && g.scale < 1;
}

std::string evidenceOf(const GradientScale& g) {
  if (g.verdicts > 0)
    return "Loss and attention equal those of unsharded training, and all " +
           std::to_string(g.verdicts) + " gradients of step " + std::to_string(g.train_step) +
           " are " + describeSignificant(g.scale, 3) + " times its; their norm is " +
           describeSignificant(g.norm, 4) + " where it has " +
           describeSignificant(g.right_norm, 4) + ".";
  std::string evidence =
      "The gradient of " + g.head.parameter + " is " + describeSignificant(g.head.factor, 4) +
      " times the one that follows from the recorded logits and labels of all ranks, within " +
      describeSignificant(100 * g.head.off_scaled, 2) + " %.";
  if (mayBeClipped(g))
    evidence +=
        " Ranks that clip their own gradients before the sum look the same where each of them has "
        "to take its by this factor.";
  return evidence;
}

void finish(const GradientScale& g, Finding& f) {
  f.confidence = g.verdicts > 0 || mayBeClipped(g) ? "likely" : "certain";
  f.title = g.scale > 1 ? "The gradients are taken times cp" : "The gradients are divided by cp";
  f.evidence = evidenceOf(g);
  f.remedy =
      g.scale > 1
          ? "Sum the gradients over dp×cp once, of a loss that is divided by all targets, and drop "
            "the factor of cp that was made for a mean over the ranks."
          : "The ranks' gradients are parts of one sum: sum them over dp×cp and take no mean (data-"
            "parallel wrappers divide by their number of ranks), or take the loss times that "
            "number.";
}

}  // namespace

RuleResult checkGradScaledByCp(const Trace& trace) {
  if (trace.run() && trace.run()->cp == 1) return clear();
  return answerOf(readGradientScale(trace), GradientsAre::kScaledByCp, "grad_scaled_by_cp", finish);
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/unknown_number.h"

#include "traces/analysis/doctor/gradient_scale.h"
#include "traces/analysis/doctor/logged_loss.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

Finding findingAt(std::int32_t train_step, Direction direction) {
  Finding finding;
  finding.rule = kUnknownMistake;
  finding.place = {train_step, Layer::none(), direction, {}};
  return finding;
}

Finding ofLoss(const LoggedLoss& loss) {
  Finding finding = findingAt(loss.train_step, Direction::kForward);
  finding.buffer = "loss";
  finding.title = "No rule names it: the logged loss is not that of the ranks";
  finding.evidence = "Of step " + std::to_string(loss.train_step) + " there is " + describe(loss) +
                     "; it is no mean of means, no multiple by cp and of no rank alone either.";
  finding.remedy =
      "Look at how ranks sum the loss, at the number of targets and at what is logged.";
  return finding;
}

Finding ofGradient(const GradientScale& gradients) {
  const std::string& parameter = gradients.head.parameter;
  Finding finding = findingAt(gradients.train_step, Direction::kBackward);
  finding.buffer = "grad." + parameter;
  finding.title = "No rule names it: the gradient of " + parameter +
                  " is not the one of the recorded logits and labels";
  finding.evidence = "In step " + std::to_string(gradients.train_step) + " the gradient of " +
                     parameter +
                     " is not what the recorded logits and labels of all ranks give, no multiple "
                     "of it by cp, and no sum of the ranks' parts, each made smaller.";
  finding.remedy =
      "Look at the scale of the loss that backward begins with, at how ranks sum gradients and at "
      "what clips them. `ringscope verify` says how far off each known mistake is.";
  return finding;
}

}  // namespace

std::optional<Finding> unknownNumber(const Readings& readings) try {
  if (const LoggedLoss& loss = readings.loggedLoss(); loss.is == LossIs::kUnknown && loss.wrong)
    return ofLoss(loss);
  const GradientScale& gradients = readings.gradientScale();
  if (gradients.are == GradientsAre::kUnknown && gradients.wrong) return ofGradient(gradients);
  return std::nullopt;
} catch (const Error&) {
  return std::nullopt;  // what cannot be read is told beside the findings
}

}  // namespace ringscope::traces

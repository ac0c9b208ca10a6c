// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/step_loss.h"

#include <algorithm>
#include <set>

#include "traces/analysis/verify/recompute/stated_scores.h"
#include "traces/analysis/verify/recompute/step_tensors.h"
#include "traces/format/schema/attention_facts.h"
#include "traces/format/trace/framework.h"

namespace ringscope::traces {
namespace {

bool isNarrow(const std::string& dtype) {
  return dtype == "bfloat16" || dtype == "float16";
}

/// Returns why a call may be no cross entropy whose targets all count alike; empty: it is one.
std::string whyUnlike(const CalledLoss& loss) {
  if (loss.picked) return "the job makes it of log-probabilities by itself";
  if (loss.weighted) return "its classes have weights";
  if (!loss.smoothing) return "whether its labels were smoothed is not recorded";
  if (!loss.weights) return "the gradient that backward brought to the logits is not recorded";
  if (!(loss.weights->off <= roundingShare(loss.dtype)))
    return "the gradient of the logits has a part that cross entropy does not give";
  if (!(loss.weights->most - loss.weights->least <=
        2 * roundingShare(loss.dtype) * loss.weights->most))
    return "the targets of one rank have different weights";
  return "";
}

/// Returns why logits may be no multiple of the output projection's product; empty: they are one.
std::string whyNoProduct(const CalledLoss& loss) {
  static const std::set<std::string> kScales = {"Mul", "Div", "Neg"};
  if (loss.dtype.empty()) return "how the logits were computed is not recorded";
  for (const std::string& name : loss.between)
    if (!kScales.contains(name)) return "the logits went through " + name;
  return "";
}

void addCalls(const std::vector<CalledLoss>& calls, StepLoss& loss) {
  if (calls.empty()) loss.unlike = "no call of cross entropy with a gradient is recorded";
  loss.several_calls = loss.several_calls || calls.size() > 1;
  for (const CalledLoss& call : calls) {
    if (loss.unlike.empty()) loss.unlike = whyUnlike(call);
    if (loss.unlike_product.empty()) loss.unlike_product = whyNoProduct(call);
    loss.smoothing = call.smoothing.value_or(0);
    loss.narrow_product = loss.narrow_product || isNarrow(call.dtype);
    loss.parameter = call.parameter;
    loss.tied = loss.tied || call.tied;
  }
}

}  // namespace

double roundingShare(const std::string& dtype) {
  constexpr double kWide = 1e-4;
  return isNarrow(dtype) ? kSixteenBitShare : kWide;
}

StepLoss stepLoss(const Trace& trace, std::int32_t train_step) {
  StepLoss loss;
  if (!isForeign(trace)) {
    loss.logit_softcap = positiveFact(trace.note(kLogitsNote), "softcap");
    return loss;
  }
  std::set<double> smoothings;
  for (const WorldRank rank : tokenOwners(trace)) {
    addCalls(calledLosses(trace, train_step, rank), loss);
    smoothings.insert(loss.smoothing);
  }
  if (smoothings.size() > 1) loss.unlike = "ranks smoothed their labels differently";
  if (loss.several_calls && loss.unlike_product.empty())
    loss.unlike_product = "the loss has several parts, and only the logits of one are recorded";
  return loss;
}

}  // namespace ringscope::traces

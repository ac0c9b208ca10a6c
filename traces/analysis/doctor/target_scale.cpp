// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/target_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "traces/analysis/verify/recompute/step_loss.h"
#include "traces/analysis/verify/recompute/step_tensors.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/sequence_groups.h"
#include "traces/format/trace/steps.h"

namespace ringscope::traces {
namespace {

/// Sums over the losses of all ranks in a step.
struct StepSums {
  double least = 0, most = 0;  ///< weights of single targets, of a rank's loss
  double targets = 0, tokens = 0, product = 0;
  double magnitude = 0;  ///< of the products, without their signs
  double head_product = 0;
  std::int32_t microbatches = 1;
  double rounding = 0;
  /// Targets by replica and by microbatch.
  std::map<std::int32_t, double> of_replica, of_microbatch;
  std::map<std::int32_t, double> products;  ///< by microbatch
};

/// One gradient as backward brought it on a rank and as the optimizer has it: numbers linear in it.
struct Gradient {
  double local = 0, given = 0;
  std::int64_t parts = 1;  ///< ranks whose `given` are parts of one number
};

/// Returns that of the output projection, whose part on each rank its logits give. If its weight
/// embeds tokens too, returns that of another parameter.
std::optional<Gradient> gradientOf(const CalledLoss& call) {
  if (!call.tied && call.product && call.head_product && call.head_parts > 0)
    return Gradient{*call.product, *call.head_product, call.head_parts};
  if (!call.local_gradient || !call.given_gradient) return std::nullopt;
  return Gradient{*call.local_gradient, *call.given_gradient, 1};
}

bool isPlain(const CalledLoss& call) {
  return !call.weighted && !call.picked && gradientOf(call) && call.weights &&
         call.weights->mean > 0 && call.weights->off <= roundingShare(call.dtype);
}

bool addCalls(const std::vector<CalledLoss>& calls, std::int32_t replica, StepSums& sums) {
  for (const CalledLoss& call : calls) {
    if (call.targets == 0) continue;
    if (!isPlain(call)) return false;
    const double weight = call.weights->mean;
    sums.least = sums.targets > 0 ? std::min(sums.least, weight) : weight;
    sums.most = std::max(sums.most, weight);
    sums.targets += static_cast<double>(call.targets);
    sums.tokens += static_cast<double>(call.tokens);
    sums.of_replica[replica] += static_cast<double>(call.targets);
    sums.of_microbatch[call.microbatch] += static_cast<double>(call.targets);
    const double local = gradientOf(call)->local;
    sums.product += local;
    sums.products[call.microbatch] += local;
    sums.magnitude += std::abs(local);
    sums.microbatches = std::max(sums.microbatches, call.microbatch + 1);
    sums.rounding = std::max({sums.rounding, 2e-3, 4 * roundingShare(call.dtype)});
  }
  return !calls.empty() && isPlain(calls.front());
}

/// Reports whether the ranks of each tp group have the same logits, none of them a part only.
bool areLogitsWhole(const Trace& trace, std::int32_t train_step) {
  for (const WorldRank owner : tokenOwners(trace)) {
    const auto own = calledLosses(trace, train_step, owner);
    for (const WorldRank rank : tpRanks(trace, owner)) {
      const auto calls = calledLosses(trace, train_step, rank);
      const bool equal = std::ranges::equal(own, calls, [](const auto& a, const auto& b) {
        return a.product && b.product && a.targets == b.targets &&
               std::abs(*a.product - *b.product) <= 1e-3 * std::abs(*a.product);
      });
      if (!equal) return false;
    }
  }
  return true;
}

/// Returns the sums; nullopt when a rank's are not known, or ranks have different gradients.
std::optional<StepSums> stepSums(const Trace& trace, std::int32_t train_step) {
  if (trace.run()->tp > 1 && !areLogitsWhole(trace, train_step)) return std::nullopt;
  const std::vector<WorldRank> owners = tokenOwners(trace);
  const auto replicas = sequenceGroups(trace);
  StepSums sums;
  double parts = 1, least = std::numeric_limits<double>::infinity(), most = -least;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    const auto calls = calledLosses(trace, train_step, WorldRank::of(rank));
    const bool is_owner = std::ranges::find(owners, WorldRank::of(rank)) != owners.end();
    const auto replica = std::ranges::find_if(replicas, [&](const auto& members) {
      return std::ranges::count(members, WorldRank::of(rank)) > 0;
    });
    if (is_owner && !addCalls(calls, static_cast<std::int32_t>(replica - replicas.begin()), sums))
      return std::nullopt;
    if (calls.empty() || !isPlain(calls.front())) return std::nullopt;
    // Ranks of a tp group may have parts of another parameter's gradient, or all of it.
    if (calls.front().tied && trace.run()->tp > 1) return std::nullopt;
    const Gradient gradient = *gradientOf(calls.front());
    const double product = gradient.given;
    parts = static_cast<double>(gradient.parts);
    least = std::min(least, product);
    most = std::max(most, product);
    sums.head_product += product;
  }
  constexpr double kLeastShare = 1e-2;  // parts that cancel leave little but rounding
  if (!(sums.targets > 0) || std::abs(sums.product) <= kLeastShare * sums.magnitude)
    return std::nullopt;
  if (parts == 1 && most - least > 1e-3 * std::abs(most)) return std::nullopt;
  sums.head_product *= parts / trace.worldSize();
  return sums;
}

/// Returns the factor that a number equals within rounding; 0 when it equals none.
double among(const std::set<double>& factors, double number, double rounding) {
  for (const double factor : factors)
    if (std::abs(number / factor - 1) <= rounding) return factor;
  return 0;
}

std::string words(const StepSums& sums, double loss, double sync) {
  return "The logits' gradients give one target the weight " + describeSignificant(sums.most, 4) +
         " on every rank, which is " + describeSignificant(loss, 4) + " times 1 / " +
         describeCount(static_cast<std::int64_t>(sums.targets), "target") +
         " of all ranks, and the optimizer is given " + describeSignificant(sync, 4) +
         " times the sum of what the ranks' logits give.";
}

/// Reports whether each rank's losses have as many tokens as all ranks of its cp group together.
bool areGathered(const Trace& trace, std::int32_t train_step) {
  for (int r = 0; r < trace.worldSize(); ++r) {
    const WorldRank rank = WorldRank::of(r);
    const ShardRecord* shard = trace.findShard("input_ids", train_step, rank);
    const auto calls = calledLosses(trace, train_step, rank);
    if (!shard || calls.empty()) return false;
    std::int64_t own = 1;
    for (const std::int64_t extent : shard->local_shape) own *= extent;
    if (own == 0 || calls.front().tokens != own * trace.run()->cp) return false;
  }
  return true;
}

/// Reports whether a sum of the means of these parts gives every target the same weight: all parts
/// have as many targets.
bool mayBeOfMeans(const std::map<std::int32_t, double>& targets) {
  return std::ranges::all_of(
      targets, [&](const auto& part) { return part.second == targets.begin()->second; });
}

/// Reports whether the optimizer is given what sums over cp ranks after each microbatch leave.
/// These sums take the gradients of earlier microbatches, which are alike on all ranks, cp times
/// again.
bool areSummedAgain(const StepSums& sums, double cp) {
  double product = 0;
  for (const auto& [microbatch, of_microbatch] : sums.products)
    product = product * cp + of_microbatch;
  const double due = std::max(std::abs(sums.product), std::abs(product));
  return sums.products.size() > 1 && std::abs(sums.head_product - product) <= sums.rounding * due &&
         std::abs(sums.head_product - sums.product) > 10 * sums.rounding * due;
}

TargetScale ofStep(const Trace& trace, std::int32_t train_step) {
  TargetScale reading;
  reading.train_step = train_step;
  const auto sums = stepSums(trace, train_step);
  if (sums) reading.sync = sums->head_product / sums->product;
  if (!sums || sums->most - sums->least > sums->rounding * sums->most) return reading;
  const double loss = sums->most * sums->targets, sync = reading.sync, rounding = sums->rounding,
               world = trace.worldSize(), cp = trace.run()->cp, tp = trace.run()->tp;
  if (among({1}, loss * sync, rounding) > 0) {
    reading.are = TargetsScaled::kRight;
    return reading;
  }
  if (among({1}, loss, rounding) > 0 && areSummedAgain(*sums, cp)) {
    reading.are = TargetsScaled::kBySync;
    reading.again = true;
    reading.scale = cp;
    reading.evidence = words(*sums, loss, sync) +
                       " It is what sums over the cp ranks after each microbatch leave: the "
                       "gradients of earlier microbatches are summed again, and count " +
                       describeSignificant(cp, 3) + " times more each time.";
    return reading;
  }
  // A mean over all tokens is a choice, and so are a sum of replicas' or of microbatches' means.
  const bool of_tokens = among({1}, loss * sync * sums->tokens / sums->targets, rounding) > 0;
  const bool of_others =
      (mayBeOfMeans(sums->of_replica) &&
       among({static_cast<double>(trace.run()->dp)}, loss * sync, rounding) > 0) ||
      (mayBeOfMeans(sums->of_microbatch) &&
       among({static_cast<double>(sums->microbatches)}, loss * sync, rounding) > 0);
  if (of_tokens || (of_others && loss * sync > 1)) return reading;
  const bool is_loss_right = among({1}, loss, rounding) > 0;
  reading.scale = is_loss_right ? among({cp, 1 / cp, tp, 1 / tp, world, 1 / world}, sync, rounding)
                                : among({cp, 1 / cp}, loss * sync, rounding);
  reading.may_be_of_tp = is_loss_right && tp > 1 && among({tp, world}, sync, rounding) > 0;
  if (reading.scale > 0)
    reading.are = among({1}, sync, rounding) > 0 ? TargetsScaled::kByLoss : TargetsScaled::kBySync;
  reading.evidence = words(*sums, loss, sync);
  reading.gathered = areGathered(trace, train_step);
  return reading;
}

}  // namespace

TargetScale readTargetScale(const Trace& trace) {
  TargetScale known;
  if (!isForeign(trace) || !trace.run() || trace.run()->cp < 2) return known;
  for (const std::int32_t train_step : stepsWithTensors(trace)) {
    TargetScale reading = ofStep(trace, train_step);
    if (reading.are == TargetsScaled::kByLoss || reading.are == TargetsScaled::kBySync)
      return reading;
    if (reading.are == TargetsScaled::kRight || known.sync == 0) known = std::move(reading);
  }
  return known;
}

RuleResult answerAboutGathered(const TargetScale& targets) {
  if (targets.are == TargetsScaled::kRight) return clear();
  if (targets.are == TargetsScaled::kUnknown)
    return notObservable("needs the gradients of the logits and of the output projection");
  if (!targets.gathered || targets.scale <= 1)
    return undecided("needs targets whose weight is not wrong in another way already");
  return found(
      {.confidence = Confidence::kLikely,
       .title = "The backward of gathered logits counts every rank",
       .place = {targets.train_step, Layer::none(), Direction::kBackward, {}},
       .buffer = "loss",
       .evidence = targets.evidence + " Every rank's loss has the tokens of all ranks of its cp " +
                   "group, and the backward of the gathering sums what these ranks bring. This "
                   "assumes that the loss is meant to be the mean over all targets.",
       .remedy = "Divide the loss of gathered outputs by the number of ranks that compute it, or "
                 "gather with a backward that takes this rank's part alone instead of a sum; or "
                 "let each rank compute the loss of its own tokens."});
}

RuleResult answerFrom(const TargetScale& targets, TargetsScaled wrong, RuleResult otherwise) {
  if (otherwise.verdict != Verdict::kNotObservable) return otherwise;
  if (targets.are == TargetsScaled::kRight) return clear();
  if (targets.are != wrong) return otherwise;
  const bool by_loss = wrong == TargetsScaled::kByLoss;
  const std::string factor = targets.scale > 1
                                 ? "times " + describeSignificant(targets.scale, 3)
                                 : "divided by " + describeSignificant(1 / targets.scale, 3);
  Finding finding;
  finding.confidence = Confidence::kLikely;
  finding.title = (by_loss ? "The loss is taken " : "The gradients are taken ") + factor;
  finding.place = {targets.train_step, Layer::none(), Direction::kBackward, {}};
  finding.buffer = by_loss ? "loss" : "grad";
  finding.evidence =
      targets.evidence + " This assumes that the loss is meant to be the mean over all targets.";
  finding.remedy =
      "Divide the summed loss by the number of all targets and sum the gradients over dp×cp. If "
      "the gradients are averaged (data-parallel wrappers divide by their number of ranks), "
      "multiply the loss by that number; otherwise by nothing.";
  if (targets.again) {
    finding.title = "Gradients are summed again after each microbatch";
    finding.remedy =
        "Sum the gradients once, after the last microbatch of the step: no_sync() in DDP, "
        "set_requires_gradient_sync(False) in FSDP2, or a loop over parameters after the last "
        "backward.";
  }
  if (targets.may_be_of_tp)
    finding.remedy +=
        " Ranks of one tp group have the same tokens and logits: do not sum over tp gradients of "
        "weights that every tp rank holds whole.";
  return found(std::move(finding));
}

}  // namespace ringscope::traces

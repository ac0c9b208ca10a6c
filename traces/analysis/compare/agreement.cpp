// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "traces/analysis/compare/parts.h"
#include "traces/analysis/compare/report.h"
#include "traces/analysis/diff/summary.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/step_log.h"

namespace ringscope::traces {
namespace {

constexpr const char* kOr = ", or name a second recording of the other run with --floor RUN3";

/// Reports whether a setting only changes the order of computation, so that unsharded attention has
/// the same results.
bool changesOnlyTheOrder(const std::string& setting) {
  static constexpr std::array kOrder = {"dp",     "tp",        "cp",     "strategy", "ulysses",
                                        "rotate", "order",     "kernel", "balance",  "p2p",
                                        "launch", "transport", "device", "recompute"};
  // The tokens themselves are compared, not the names of the files that they come from.
  static constexpr std::array kData = {"text", "tokens", "tokenizer", "separator"};
  return std::ranges::find(kOrder, setting) != kOrder.end() ||
         std::ranges::find(kData, setting) != kData.end();
}

/// The results of the verification of one run.
struct Verified {
  explicit Verified(const Trace& trace) {
    for (const DiffRecord& diff : trace.diffs()) {
      if (diverges(diff)) {
        const DataWay way = findWay(diff.place, diff.tensor);
        if (!first_beyond || way < *first_beyond) first_beyond = way;
      }
      if (diff.isolated) continue;
      if (diff.tensor == "loss") steps.insert(diff.place.train_step);
      limits[{diff.place.train_step, diff.tensor}] = diff.limit;
    }
  }

  std::set<std::int32_t> steps;  ///< training steps that were compared with unsharded steps
  std::map<std::pair<std::int32_t, std::string>, double> limits;  ///< limits of these comparisons
  std::optional<DataWay> first_beyond;                            ///< first tensor beyond its limit
};

/// The decision which differences rounding explains. A verified run is within its limits of
/// unsharded attention at every step. Two such runs with equal initial weights, data and settings
/// differ by rounding alone.
class Judge {
 public:
  Judge(const Trace& run, const Trace& other, RunComparison& comparison)
      : run_(run), other_(other), comparison_(comparison), ours_(run), theirs_(other) {}

  void decide() {
    markBeyond();
    if (comparison_.all.empty()) return;
    std::string reason = hindrance();
    auto at = comparison_.all.begin();
    while (at != comparison_.all.end() && reason.empty()) {
      const std::int32_t step = at->place.train_step;
      const auto end = std::find_if(at, comparison_.all.end(), [&](const TensorDifference& d) {
        return d.place.train_step != step;
      });
      reason = hindranceOf(step, at, end);
      for (; at != end; ++at) at->explained = reason.empty();
    }
    comparison_.unjudged = reason;
  }

 private:
  using At = std::vector<TensorDifference>::iterator;

  /// Marks every tensor after one that is beyond its limit: it is wrong because of that tensor.
  void markBeyond() {
    for (TensorDifference& d : comparison_.all)
      for (const Verified* run : {&ours_, &theirs_})
        d.beyond =
            d.beyond || (run->first_beyond && *run->first_beyond <= findWay(d.place, d.tensor));
  }

  /// Returns a sentence that says why no step can be judged and what would help; empty when steps
  /// can be judged.
  std::string hindrance() const {
    const bool one = ours_.steps.empty(), two = theirs_.steps.empty();
    // A job of another framework has no option that verifies it.
    const bool foreign = isForeign(run_) || isForeign(other_);
    if (one || two)
      return std::string(one && two ? "Neither recording was verified"
                         : one      ? "The recording was not verified"
                                    : "The other recording was not verified") +
             (foreign ? std::string(". Name a second recording of the other run with --floor RUN3")
                      : std::string(". Record both with --verify") + kOr) +
             ", which says by how much equal runs differ.";
    const RunSpec *a = run_.run(), *b = other_.run();
    if (!a || !b)
      return std::string(
                 "One of the recordings does not say what was run. Record both with "
                 "RingScope") +
             kOr + ".";
    if (a->fp8 || b->fp8)
      return std::string("Limits do not contain the rounding to FP8. Record both without --fp8") +
             kOr + ".";
    for (const std::string& sentence : comparison_.settings)
      if (const std::string setting = sentence.substr(0, sentence.find(':'));
          !changesOnlyTheOrder(setting))
        return "The setting " + setting +
               " changes the results. Record both with the same value to see what else differs.";
    return "";
  }

  std::string hindranceOf(std::int32_t step, At begin, At end) {
    const std::string name = "Training step " + std::to_string(step);
    if (!ours_.steps.contains(step) || !theirs_.steps.contains(step))
      return name + " was not verified in both recordings. Record both with --verify" + kOr + ".";
    if (std::any_of(begin, end, [](const TensorDifference& d) { return d.beyond; }))
      return name +
             " is beyond its limits in one of the runs. See `ringscope diff` of each recording.";
    if (std::any_of(begin, end,
                    [](const TensorDifference& d) { return areNames(d) && d.differing > 0; }))
      return name + " had other inputs in both runs. Record both with the same data and layout.";
    const bool first = begin == comparison_.all.begin();
    return first ? otherTruth(step, begin, end) : "";
  }

  /// Returns a sentence when the runs began with different weights; empty otherwise. Results of one
  /// unsharded step differ by at most the sum of both limits, so a larger difference shows
  /// different weights.
  std::string otherTruth(std::int32_t step, At begin, At end) {
    const auto ours = loggedSteps(run_), theirs = loggedSteps(other_);
    const auto a = ours.find(step), b = theirs.find(step);
    if (a == ours.end() || b == theirs.end() || !a->second.loss || !b->second.loss)
      return "The loss of the first training step is not recorded in both.";
    for (const auto& [name, number] :
         {std::pair("loss", &LoggedStep::loss), {"grad_norm", &LoggedStep::grad_norm}}) {
      const auto &x = a->second.*number, &y = b->second.*number;
      const auto x_limit = ours_.limits.find({step, name}),
                 y_limit = theirs_.limits.find({step, name});
      if (!x || !y || x_limit == ours_.limits.end() || y_limit == theirs_.limits.end()) continue;
      if (std::abs(*x - *y) <= x_limit->second + y_limit->second) continue;
      if (step == 0)
        for (At d = begin; d != end; ++d) d->beyond = d->beyond || d->tensor == name;
      return std::string("The ") + (std::string(name) == "loss" ? "loss" : "gradient norm") +
             " of training step " + std::to_string(step) +
             " differs by more than both limits together, so the runs began with other weights or "
             "data. Record both from the same ones.";
    }
    return "";
  }

  const Trace &run_, &other_;
  RunComparison& comparison_;
  Verified ours_, theirs_;
};

}  // namespace

void judge(const Trace& run, const Trace& other, RunComparison& comparison) {
  Judge(run, other, comparison).decide();
}

Agreement TensorDifference::agreement() const {
  if (rows == 0 && unmatched > 0) return Agreement::kUnknown;
  if (differing == 0) return Agreement::kSame;
  if (floor && worst <= *floor) return Agreement::kRounding;
  if (areNames(*this) || !std::isfinite(worst)) return Agreement::kDiffers;
  if (explained) return Agreement::kRounding;
  // Equal runs that agree bit for bit say nothing about another order of additions.
  return beyond || (floor && *floor > 0) ? Agreement::kDiffers : Agreement::kUnknown;
}

Agreement RunComparison::verdict() const {
  Agreement worst = all.empty() ? Agreement::kUnknown : Agreement::kSame;
  for (const TensorDifference& d : all) worst = std::max(worst, d.agreement());
  return worst;
}

}  // namespace ringscope::traces

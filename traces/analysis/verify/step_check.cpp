// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/step_check.h"

#include <cmath>
#include <type_traits>

#include "traces/analysis/verify/recompute/comparison.h"
#include "traces/analysis/verify/recompute/gradient_norm.h"
#include "traces/analysis/verify/recompute/head_parts.h"
#include "traces/analysis/verify/recompute/loss.h"
#include "traces/analysis/verify/step_hypotheses/step_hypothesis_check.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// JSON has no number for infinity or NaN.
nlohmann::json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? nlohmann::json(*value) : nlohmann::json();
}

/// `gives`: what the value of a hypothesis is called.
template <typename Check>
nlohmann::json hypothesesJson(const Check& check, const char* gives) {
  nlohmann::json json = {{"skipped", check.untried}, {"mistakes", nlohmann::json::array()}};
  for (const NumberHypothesis& tried : check.hypotheses)
    json["mistakes"].push_back({{"mistake", tried.mistake},
                                {"how", tried.how},
                                {"reproduces", tried.reproduces()},
                                {gives, number(tried.gives.value)},
                                {"limit", number(tried.gives.limit)},
                                {"ratio", number(tried.ratio)}});
  return json;
}

nlohmann::json toJson(const ScalarCheck& check) {
  nlohmann::json json = {{"logged", number(check.logged)}, {"exact", number(check.exact)},
                         {"limit", number(check.limit)},   {"ratio", number(check.ratio())},
                         {"skipped", check.skipped},       {"open", check.open}};
  if (check.differs()) json["hypotheses"] = hypothesesJson(check, "gives");
  return json;
}

nlohmann::json toJson(const GradientCheck& check) {
  nlohmann::json json = {{"parameter", check.parameter},
                         {"off", number(check.off)},
                         {"limit", number(check.limit)},
                         {"ratio", number(check.ratio())},
                         {"rank", traces::toJson(check.rank)},
                         {"skipped", check.skipped},
                         {"open", check.open}};
  if (check.differs()) json["hypotheses"] = hypothesesJson(check, "off");
  return json;
}

std::string named(const NumberHypothesis& tried) {
  return "`" + tried.mistake + "`" + (tried.how.empty() ? "" : " (" + tried.how + ")");
}

std::string loggedWords(const Rounded& gives) {
  return describeSignificant(gives.value, 8);
}

std::string percent(double share) {
  return describeSignificant(100 * share, 2) + " %";
}

/// Returns lines about the mistakes that explain a wrong number and those that do not. `words`
/// describes the number that a hypothesis gives.
template <typename Check, typename Words>
std::string explanations(const Check& check, Words&& words) {
  std::string text, excluded;
  for (const NumberHypothesis& tried : check.hypotheses) {
    if (tried.reproduces())
      text += "    = it is what " + named(tried) + " gives: " + words(tried.gives) + ", " +
              describeRatio(tried.ratio) + " its limit\n";
    else
      excluded += (excluded.empty() ? "" : ", ") + named(tried) + " " + describeRatio(tried.ratio);
  }
  if (text.empty() && !excluded.empty()) text = "    = no mistake that was tried gives it\n";
  if (!excluded.empty()) text += "    ≠ excluded: " + excluded + "\n";
  return text + (check.untried.empty() ? "" : "    – not tried: " + check.untried + "\n");
}

/// Returns "✓", "✗", or "–" for a difference that a right run may have.
template <typename Check>
std::string markOf(const Check& check) {
  return check.isWrong() ? "  ✗ " : check.differs() ? "  – " : "  ✓ ";
}

template <typename Check>
std::string whyOpen(const Check& check) {
  return check.differs() && !check.isWrong() ? "    " + check.open + "\n" : "";
}

std::string toText(const ScalarCheck& check) {
  if (!check.ratio()) return "  – " + check.what + ": " + check.skipped + "\n";
  return markOf(check) + check.what + ": logged " + describeSignificant(*check.logged, 8) +
         ", recomputed " + describeSignificant(*check.exact, 8) + ", " +
         describeRatio(*check.ratio()) + " its limit\n" + whyOpen(check) +
         explanations(check, loggedWords);
}

std::string toText(const GradientCheck& check) {
  const std::string what = "gradient of " + check.parameter + ": ";
  if (!check.ratio()) return "  – " + what + check.skipped + "\n";
  return markOf(check) + what + "off by " + percent(check.off) +
         " of its size from what logits and labels give" +
         (check.rank.exists() ? ", most on rank " + toString(check.rank) : "") + ", " +
         describeRatio(*check.ratio()) + " its limit\n" + whyOpen(check) +
         explanations(check, [](const Rounded& gives) { return "off by " + percent(gives.value); });
}

/// Returns the result of a check. If a value of it is damaged, returns a result that says so, and
/// the other checks go on.
template <typename Check>
auto checked(const char* what, Check&& check) {
  try {
    return check();
  } catch (const Error& error) {
    decltype(check()) damaged;
    if constexpr (std::is_same_v<decltype(check()), ScalarCheck>) damaged.what = what;
    if constexpr (std::is_same_v<decltype(check()), GradientCheck>) damaged.parameter = what;
    damaged.skipped = error.what();
    return damaged;
  }
}

}  // namespace

StepCheck checkStep(const Trace& trace, std::int32_t train_step) {
  StepCheck check{
      train_step, checked("labels", [&] { return checkLabels(trace, train_step); }),
      checked("loss", [&] { return checkLoss(trace, train_step); }),
      checked("the output projection", [&] { return checkGradient(trace, train_step); }),
      checked("grad_norm", [&] { return checkGradientNorm(trace, train_step); })};
  tryMistakes(trace, check);
  return check;
}

nlohmann::json toJson(const StepCheck& check) {
  return {{"train_step", check.train_step},
          {"labels", toJson(check.labels)},
          {"loss", toJson(check.loss)},
          {"gradient", toJson(check.gradient)},
          {"grad_norm", toJson(check.grad_norm)}};
}

std::string toText(const StepCheck& check) {
  return "step " + std::to_string(check.train_step) + "\n" + toText(check.labels) +
         toText(check.loss) + toText(check.gradient) + toText(check.grad_norm);
}

}  // namespace ringscope::traces

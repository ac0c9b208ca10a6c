// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/step_hypotheses/step_hypothesis_check.h"

#include <algorithm>
#include <set>

#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/verify/step_hypotheses/step_hypothesis.h"

namespace ringscope::traces {
namespace {

/// Adds a hypothesis, or keeps the nearer of two ways of one mistake.
void keepBest(std::vector<NumberHypothesis>& all, NumberHypothesis tried) {
  const auto known = std::ranges::find(all, tried.mistake, &NumberHypothesis::mistake);
  if (known == all.end())
    all.push_back(std::move(tried));
  else if (tried.ratio < known->ratio)
    *known = std::move(tried);
}

/// Tries the hypotheses on one number.
void tryMistakes(const StepSetting& setting, std::optional<Rounded> StepValues::*number,
                 ScalarCheck& check) {
  if (!check.differs()) return;
  const Rounded meant{*check.exact, check.limit};
  for (const StepHypothesis& hypothesis : stepHypotheses())
    for (const StepValues& way : hypothesis.make(setting)) {
      const std::optional<Rounded>& gives = way.*number;
      if (!gives || meant.ratioFor(gives->value) <= 1) continue;
      keepBest(check.hypotheses,
               {hypothesis.mistake, way.how, *gives, gives->ratioFor(*check.logged)});
    }
  std::ranges::stable_sort(check.hypotheses, {}, &NumberHypothesis::ratio);
}

/// One way of one mistake, which may also change the loss: that has to be as it was logged.
NumberHypothesis triedGradient(const StepSetting& setting, const StepValues& way,
                               const StepCheck& check) {
  const double limit = check.gradient.limit;
  const double off = worstShareOff(*setting.head, *way.gradient).share;
  NumberHypothesis tried{"", way.how, {off, limit}, off / limit};
  const double by_loss =
      way.loss && check.loss.ratio() ? way.loss->ratioFor(*check.loss.logged) : 0;
  if (by_loss > 1 && by_loss > tried.ratio) {
    tried.ratio = by_loss;
    tried.how = "by the loss that it would log";
  }
  return tried;
}

/// Drops hypotheses that another reproducing mistake, which comes before them, explains.
void dropEffects(std::vector<NumberHypothesis>& all) {
  std::set<std::string> effects;
  for (const NumberHypothesis& tried : all)
    if (const Mistake* mistake = findMistake(tried.mistake); mistake && tried.reproduces())
      effects.insert(mistake->also_trips.begin(), mistake->also_trips.end());
  std::erase_if(all, [&](const NumberHypothesis& tried) {
    return tried.reproduces() && effects.contains(tried.mistake);
  });
}

void tryMistakes(const StepSetting& setting, StepCheck& check) {
  GradientCheck& gradient = check.gradient;
  for (const StepHypothesis& hypothesis : stepHypotheses())
    for (const StepValues& way : hypothesis.make(setting)) {
      const std::string mistake = hypothesis.mistake;
      if (!way.lacks.empty())
        gradient.untried +=
            (gradient.untried.empty() ? "`" : "; `") + mistake + "` needs " + way.lacks;
      if (!way.gradient || !way.lacks.empty()) continue;
      if (shareFromMeant(*setting.head, *way.gradient) <= gradient.limit) continue;
      NumberHypothesis tried = triedGradient(setting, way, check);
      tried.mistake = mistake;
      keepBest(gradient.hypotheses, std::move(tried));
    }
  std::ranges::stable_sort(gradient.hypotheses, {}, &NumberHypothesis::ratio);
  // Without a logged loss the hypotheses cannot be told apart.
  if (check.loss.ratio()) dropEffects(gradient.hypotheses);
}

void tryMistakes(LabelCheck& check, StepSetting setting) {
  if (!check.skipped.empty() || check.areNextTokens()) return;
  setting.labels = &check.counts;
  for (const StepHypothesis& hypothesis : stepHypotheses()) {
    const std::vector<StepValues> ways = hypothesis.make(setting);
    const auto nearest = std::ranges::min_element(ways, {}, &StepValues::labels);
    if (nearest != ways.end() && nearest->labels)
      check.hypotheses.push_back({hypothesis.mistake, nearest->how, *nearest->labels});
  }
  std::ranges::stable_sort(check.hypotheses, {}, &LabelCheck::Hypothesis::unlike);
}

}  // namespace

void tryMistakes(const Trace& trace, StepCheck& check) {
  if (!check.differs() && check.labels.areNextTokens()) return;
  if (!trace.run()) {
    check.loss.untried = check.grad_norm.untried = "the sizes of the mesh are not recorded";
    return;
  }
  StepSetting setting{*trace.run(), {}, {}};
  tryMistakes(check.labels, setting);
  if (check.loss.differs() || check.gradient.differs())
    setting.losses = recomputedLosses(trace, check.train_step).ranks;
  if (check.grad_norm.differs()) setting.norms = gradientNorms(trace, check.train_step);
  tryMistakes(setting, &StepValues::loss, check.loss);
  tryMistakes(setting, &StepValues::grad_norm, check.grad_norm);
  if (!check.gradient.differs()) return;
  const HeadParts head = headParts(trace, check.train_step);
  setting.head = &head;
  tryMistakes(setting, check);
}

}  // namespace ringscope::traces

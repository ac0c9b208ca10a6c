// SPDX-License-Identifier: Apache-2.0
#include "engine/rank/run_switches.h"

#include <algorithm>
#include <map>

#include "traces/analysis/mistakes/needs/asked_mistake.h"
#include "traces/format/core/error.h"

namespace ringscope::engine {

namespace {

/// Returns the mistake with its places drawn. A mistake injected during a run lasts to its end,
/// unless a step is given.
std::string placedFromNowOn(const std::string& asked, const traces::RunSpec& run) {
  auto placed_there = traces::AskedMistake::parse(placed(asked, run));
  placed_there.step = traces::AskedMistake::parse(asked).step;
  return placed_there.text();
}

}  // namespace

Seams RunSwitches::withMistakes() const {
  Seams seams = correct_;
  for (const Mistake& mistake : mistakes_) engine::inject(mistake.made, seams);
  return seams;
}

Seams RunSwitches::withoutMistake(std::size_t number) const {
  Seams seams = correct_;
  for (std::size_t i = 0; i < mistakes_.size(); ++i)
    if (i != number) engine::inject(mistakes_[i].made, seams);
  return seams;
}

bool RunSwitches::isInjected(const std::string& mistake) const {
  return std::ranges::find(mistakes_, mistake, &Mistake::asked) != mistakes_.end();
}

void RunSwitches::expect(const traces::RunSpec& settings) {
  const traces::MutexLock lock(mutex_);
  expected_ = settings;
}

void RunSwitches::begin(const std::vector<std::string>& mistakes, const CapturePolicy& capture) {
  capture_.begin(capture);
  const traces::MutexLock lock(mutex_);
  for (const std::string& mistake : mistakes)
    if (!isInjected(mistake)) mistakes_.push_back({mistake, mistake});
  changes_ = {{0, withMistakes()}};
}

std::int32_t RunSwitches::change() {
  changes_.push_back({begun_ + 1, withMistakes()});
  return begun_ + 1;
}

void RunSwitches::goOnWith(const traces::RunSpec& run, const std::optional<PlannedRun>& planned,
                           std::int32_t first_step) {
  const traces::MutexLock lock(mutex_);
  run_ = run;
  planned_ = planned;
  for (Mistake& mistake : mistakes_) mistake.made = placed(mistake.asked, run);
  changes_ = {{0, withMistakes()}};
  begun_ = first_step - 1;
  for (std::size_t i = 0; planned_ && i < mistakes_.size(); ++i) {
    checkStepsLeft(mistakes_[i].made);
    if (const auto reason =
            foreseenReason(traces::AskedMistake::parse(mistakes_[i].made), withoutMistake(i),
                           changes_.front().seams, *planned_, first_step))
      throw usageError(*reason);
  }
}

/// Throws usageError if no step is left for a mistake that is injected during a run: its own step
/// has begun already, or so has the last step.
void RunSwitches::checkStepsLeft(const std::string& mistake) const {
  const std::int32_t first = begun_ + 1;
  const auto step = traces::AskedMistake::parse(mistake).step;
  if (first >= run_->steps)
    throw usageError("--mistake " + mistake +
                     " changes nothing any more: the last training step has begun; start a run "
                     "with it, or use more --steps");
  if (step && *step < first)
    throw usageError("--mistake " + mistake + " changes nothing any more: training step " +
                     std::to_string(*step) + " has begun; use step=" + std::to_string(first) +
                     " or a later one");
}

void RunSwitches::checkCanBegin(const std::string& mistake) const {
  const InjectableMistake& entry = injectableMistake(traces::AskedMistake::parse(mistake).id);
  if (!run_) {  // the run checks the rest when it starts
    Seams seams = withMistakes();
    engine::inject(mistake, seams);
    const auto reason = expected_ ? seams.checks.reasonAgainst(*expected_) : std::nullopt;
    if (reason) throw usageError(*reason);
    return;
  }
  if (entry.from_start_only)
    throw usageError(mistake +
                     " changes how sequences are dealt, which a run decides before its "
                     "first step; start a run with --mistake " +
                     mistake);
  checkStepsLeft(mistake);
  const Seams without = withMistakes();
  const std::string made = placedFromNowOn(mistake, *run_);
  Seams with = without;
  engine::inject(made, with);
  auto reason = with.checks.reasonAgainst(*run_);
  if (!reason && planned_)
    reason =
        foreseenReason(traces::AskedMistake::parse(made), without, with, *planned_, begun_ + 1);
  if (reason) throw usageError(*reason);
}

std::int32_t RunSwitches::inject(const std::string& mistake) {
  const traces::MutexLock lock(mutex_);
  if (isInjected(mistake)) throw usageError("the mistake '" + mistake + "' is injected already");
  checkCanBegin(mistake);
  mistakes_.push_back({mistake, run_ ? placedFromNowOn(mistake, *run_) : mistake});
  return change();
}

std::int32_t RunSwitches::lift(const std::string& mistake) {
  const traces::MutexLock lock(mutex_);
  const auto is_asked = [&](const Mistake& injected) { return injected.asked == mistake; };
  if (std::erase_if(mistakes_, is_asked) == 0)
    throw usageError("the mistake '" + mistake + "' is not injected");
  return change();
}

Seams RunSwitches::seamsFor(std::int32_t train_step) {
  const traces::MutexLock lock(mutex_);
  begun_ = std::max(begun_, train_step);
  const Seams* seams = &correct_;
  for (const Change& c : changes_)
    if (c.from_step <= train_step) seams = &c.seams;
  return *seams;
}

bool RunSwitches::changesAt(std::int32_t train_step) const {
  const traces::MutexLock lock(mutex_);
  return std::any_of(changes_.begin(), changes_.end(),
                     [&](const Change& change) { return change.from_step == train_step; });
}

std::vector<std::pair<std::string, bool>> RunSwitches::watchedMistakes() const {
  const traces::MutexLock lock(mutex_);
  std::map<std::string, bool> watched;
  for (const Change& change : changes_)
    for (const WatchedMistake& mistake : change.seams.watched)
      watched[mistake.id] = watched[mistake.id] || *mistake.changed;
  return {watched.begin(), watched.end()};
}

Seams RunSwitches::seamsOfBeginning() const {
  const traces::MutexLock lock(mutex_);
  return changes_.empty() ? correct_ : changes_.front().seams;
}

}  // namespace ringscope::engine

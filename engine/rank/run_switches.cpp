// SPDX-License-Identifier: Apache-2.0
#include "engine/rank/run_switches.h"

#include <algorithm>

#include "traces/core/error.h"
#include "traces/mistakes/asked_mistake.h"

namespace ringscope::engine {

Seams RunSwitches::withMistakes() const {
  Seams seams = correct_;
  for (const std::string& mistake : mistakes_) engine::inject(mistake, seams);
  return seams;
}

void RunSwitches::begin(const std::vector<std::string>& mistakes, const CapturePolicy& capture) {
  capture_.begin(capture);
  const traces::MutexLock lock(mutex_);
  for (const std::string& mistake : mistakes)
    if (std::find(mistakes_.begin(), mistakes_.end(), mistake) == mistakes_.end())
      mistakes_.push_back(mistake);
  changes_ = {{0, withMistakes()}};
}

std::int32_t RunSwitches::change() {
  changes_.push_back({begun_ + 1, withMistakes()});
  return begun_ + 1;
}

void RunSwitches::goOnWith(const traces::RunSpec& run) {
  const traces::MutexLock lock(mutex_);
  run_ = run;
}

void RunSwitches::checkCanBegin(const std::string& mistake) const {
  const InjectableMistake& entry = injectableMistake(traces::AskedMistake::parse(mistake).id);
  if (!run_) return;  // what the run begins with is checked by the run
  if (entry.from_start_only)
    throw usageError(mistake +
                     " changes how sequences are dealt, which a run decides before its "
                     "first step; start a run with --mistake " +
                     mistake);
  Seams seams = withMistakes();
  engine::inject(mistake, seams);
  if (const auto reason = seams.checks.refusal(*run_)) throw usageError(*reason);
}

std::int32_t RunSwitches::inject(const std::string& mistake) {
  const traces::MutexLock lock(mutex_);
  if (std::find(mistakes_.begin(), mistakes_.end(), mistake) != mistakes_.end())
    throw usageError("the mistake '" + mistake + "' is injected already");
  checkCanBegin(mistake);
  mistakes_.push_back(mistake);
  return change();
}

std::int32_t RunSwitches::lift(const std::string& mistake) {
  const traces::MutexLock lock(mutex_);
  if (std::erase(mistakes_, mistake) == 0)
    throw usageError("the mistake '" + mistake + "' is not injected");
  return change();
}

Seams RunSwitches::seamsOf(std::int32_t train_step) {
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

Seams RunSwitches::seamsOfBeginning() const {
  const traces::MutexLock lock(mutex_);
  return changes_.empty() ? correct_ : changes_.front().seams;
}

}  // namespace ringscope::engine

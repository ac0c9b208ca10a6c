// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/problem_list.h"

#include "traces/format/core/utf8.h"

namespace ringscope::traces {

void ProblemList::add(std::string_view sentence) {
  constexpr std::size_t kMostListed = 50;
  const MutexLock lock(mutex_);
  if (listed_.size() < kMostListed) return listed_.push_back(toPlainText(sentence));
  if (unlisted_++ == 0) listed_.emplace_back();
  listed_.back() = std::to_string(unlisted_) + " more problems are not listed";
}

void ProblemList::addFirst(std::string_view sentence) {
  const MutexLock lock(mutex_);
  listed_.insert(listed_.begin(), toPlainText(sentence));
}

std::vector<std::string> ProblemList::list() const {
  const MutexLock lock(mutex_);
  return listed_;
}

bool ProblemList::empty() const {
  const MutexLock lock(mutex_);
  return listed_.empty();
}

std::shared_ptr<ProblemList> ProblemList::copy() const {
  auto copy = std::make_shared<ProblemList>();
  const MutexLock lock(mutex_);
  const MutexLock of_copy(copy->mutex_);
  copy->listed_ = listed_;
  copy->unlisted_ = unlisted_;
  return copy;
}

}  // namespace ringscope::traces

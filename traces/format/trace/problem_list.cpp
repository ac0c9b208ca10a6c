// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/problem_list.h"

#include <algorithm>
#include <utility>

#include "traces/format/core/utf8.h"

namespace ringscope::traces {

void ProblemList::add(std::string_view sentence) {
  constexpr std::size_t kMostListed = 50;
  std::string plain = toPlainText(sentence);
  const MutexLock lock(mutex_);
  if (const auto same = std::ranges::find(listed_, plain, &Listed::sentence); same != listed_.end())
    ++same->times;
  else if (listed_.size() < kMostListed)
    listed_.push_back({std::move(plain)});
  else
    ++unlisted_;
}

void ProblemList::addFirst(std::string_view sentence) {
  const MutexLock lock(mutex_);
  listed_.insert(listed_.begin(), {toPlainText(sentence)});
}

std::vector<std::string> ProblemList::list() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> all;
  for (const auto& [sentence, times] : listed_)
    all.push_back(times == 1 ? sentence : sentence + " (" + std::to_string(times) + " times)");
  if (unlisted_ > 0) all.push_back(std::to_string(unlisted_) + " more problems are not listed");
  return all;
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

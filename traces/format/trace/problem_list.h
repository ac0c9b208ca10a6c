// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "traces/format/core/mutex.h"

namespace ringscope::traces {

/// Sentences about the parts of a recording that could not be read. Thread-safe.
class ProblemList {
 public:
  /// Adds a sentence. An untrusted trace may cause a hundred thousand sentences, so only the first
  /// different ones are listed, with how often each was added, and the others are counted.
  void add(std::string_view sentence) RINGSCOPE_EXCLUDES(mutex_);
  /// Adds the most important sentence at the front of the list.
  void addFirst(std::string_view sentence) RINGSCOPE_EXCLUDES(mutex_);
  std::vector<std::string> list() const RINGSCOPE_EXCLUDES(mutex_);
  bool empty() const RINGSCOPE_EXCLUDES(mutex_);
  std::shared_ptr<ProblemList> copy() const RINGSCOPE_EXCLUDES(mutex_);

 private:
  struct Listed {
    std::string sentence;
    std::size_t times = 1;
  };

  mutable Mutex mutex_;
  std::vector<Listed> listed_ RINGSCOPE_GUARDED_BY(mutex_);
  std::size_t unlisted_ RINGSCOPE_GUARDED_BY(mutex_) = 0;
};

}  // namespace ringscope::traces

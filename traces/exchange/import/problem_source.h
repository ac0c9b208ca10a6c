// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/format/storage/memory_source.h"

namespace ringscope::traces {

/// The chunks that an importer made. Problems of the import are reported before the chunks.
class ProblemSource : public MemorySource {
 public:
  explicit ProblemSource(std::vector<std::string> problems) : problems_(std::move(problems)) {}
  void list(const Take& take, const Problem& problem) override {
    for (const std::string& sentence : problems_) problem(sentence);
    MemorySource::list(take, problem);
  }

 private:
  std::vector<std::string> problems_;
};

}  // namespace ringscope::traces

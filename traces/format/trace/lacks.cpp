// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/lacks.h"

#include "traces/format/core/utf8.h"

namespace ringscope::traces {

std::string lacksNote(const std::vector<std::string>& lacks) {
  return nlohmann::json(lacks).dump();
}

std::vector<std::string> findLacks(const Trace& trace) {
  constexpr std::size_t kMost = 64, kMostLetters = 1024;
  std::vector<std::string> lacks;
  const nlohmann::json& note = trace.note(kLacksNote);
  if (!note.is_array()) return lacks;
  for (const nlohmann::json& one : note)
    if (one.is_string() && lacks.size() < kMost)
      lacks.push_back(toPlainText(one.get<std::string>(), kMostLetters));
  return lacks;
}

std::vector<std::string> listRemarks(const Trace& trace) {
  std::vector<std::string> all = trace.problems();
  for (std::string& lack : findLacks(trace)) all.push_back(std::move(lack));
  return all;
}

}  // namespace ringscope::traces

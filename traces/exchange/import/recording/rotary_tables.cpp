// SPDX-License-Identifier: Apache-2.0
// The rotary tables of models with several: layers with a window may have another base.
#include <utility>

#include "traces/exchange/import/recording/job.h"
#include "traces/exchange/import/recording/rank_file.h"

namespace ringscope::traces {
namespace {

constexpr const char* kCos = "rotary_cos";

bool isTable(const Line& line) {
  return line.kind() == "tensor" &&
         (line.text("what") == kCos || line.text("what") == "rotary_sin");
}

using At = std::pair<std::int32_t, std::int32_t>;  // training step and microbatch

At placeOf(const Line& line) {
  return {line.place(Direction::kForward).train_step, line.microbatch()};
}

/// The tables of one microbatch: by name, the hashes of their cosines.
using Tables = std::map<std::string, std::set<std::string>>;

}  // namespace

void leaveOutOtherTables(RankLines& rank) {
  std::map<At, Tables> tables;
  for (const Line& line : rank.lines)
    if (isTable(line) && line.text("what") == kCos)
      tables[placeOf(line)][line.text("name")].insert(line.text("hash"));
  std::erase_if(rank.lines, [&](const Line& line) {
    if (!isTable(line)) return false;
    const auto found = tables.find(placeOf(line));
    if (found == tables.end()) return false;
    const auto& [name, hashes] = *found->second.begin();
    return line.text("name") != name || hashes.size() > 1;
  });
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
// Counts by which ranks divide, and variables that they normalised, of what becomes their loss.
#include "traces/format/trace/own_averages.h"

#include <limits>

#include "traces/exchange/import/recording/step_notes.h"

namespace ringscope::traces {
namespace {

LossQuotient readQuotient(const Line& line) {
  LossQuotient quotient{line.microbatch(), line.whole("tokens", 0), {}, {}};
  for (const std::int64_t count : line.wholes("counts"))
    quotient.counts.push_back(static_cast<double>(count));
  for (const nlohmann::json& gradient : line.json().value("gradients", nlohmann::json::array()))
    quotient.gradients.push_back(gradient.is_number() ? gradient.get<double>()
                                                      : std::numeric_limits<double>::quiet_NaN());
  return quotient;
}

}  // namespace

void addOwnAverages(RecordedJob& job) {
  StepNotes quotients, parts;
  std::map<std::int32_t, nlohmann::json> norms;  ///< by training step: {"RANK": norm}
  for (const RankLines& rank : job.ranks)
    for (const Line& line : rank.lines) {
      if (line.kind() == "quotient") quotients.add(line, rank.rank, toJson(readQuotient(line)));
      if (const auto norm = line.real("norm"); norm && line.kind() == "norm_of_parts")
        norms[line.place(Direction::kForward).train_step][toString(rank.rank)] = *norm;
      if (line.kind() == "standardized")
        parts.add(line, rank.rank,
                  toJson(StandardizedPart{line.microbatch(), line.text("name"), line.text("mask"),
                                          line.whole("count", 0)}));
    }
  quotients.addTo(job, lossQuotientsKey);
  for (const auto& [step, ranks] : norms)
    job.notes.push_back({normsOfPartsKey(step), ranks.dump()});
  parts.addTo(job, standardizedPartsKey);
}

}  // namespace ringscope::traces

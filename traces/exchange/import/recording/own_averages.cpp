// SPDX-License-Identifier: Apache-2.0
// Counts by which ranks divide, and variables that they normalised, of what becomes their loss.
#include "traces/format/trace/own_averages.h"

#include <limits>

#include "traces/exchange/import/recording/job.h"

namespace ringscope::traces {
namespace {

using ByStep = std::map<std::int32_t, nlohmann::json>;  ///< {"RANK": [object, …]}

void addObject(ByStep& steps, const Line& line, WorldRank rank, const nlohmann::json& object) {
  nlohmann::json& own = steps[line.place(Direction::kForward).train_step][toString(rank)];
  if (own.is_null()) own = nlohmann::json::array();
  own.push_back(object);
}

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
  ByStep quotients, parts, norms;
  for (const RankLines& rank : job.ranks)
    for (const Line& line : rank.lines) {
      if (line.kind() == "quotient")
        addObject(quotients, line, rank.rank, toJson(readQuotient(line)));
      if (const auto norm = line.real("norm"); norm && line.kind() == "norm_of_parts")
        norms[line.place(Direction::kForward).train_step][toString(rank.rank)] = *norm;
      if (line.kind() == "standardized")
        addObject(parts, line, rank.rank,
                  toJson(StandardizedPart{line.microbatch(), line.text("name"), line.text("mask"),
                                          line.whole("count", 0)}));
    }
  for (const auto& [step, ranks] : quotients)
    job.notes.push_back({lossQuotientsKey(step), ranks.dump()});
  for (const auto& [step, ranks] : norms)
    job.notes.push_back({normsOfPartsKey(step), ranks.dump()});
  for (const auto& [step, ranks] : parts)
    job.notes.push_back({standardizedPartsKey(step), ranks.dump()});
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/step_tensors.h"

#include <cmath>
#include <set>

#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {

LoadedTensor loadTensor(const Trace& trace, const TensorName& tensor, const Place& place,
                        WorldRank rank) {
  const TensorRecord* record = trace.findTensor(tensor, place, rank);
  auto values = record ? trace.values(*record) : std::nullopt;
  if (!values)
    throw MissingTensor{"needs the values of " + tensor.text() + " of rank " + toString(rank)};
  if (record->stats.nan > 0 || record->stats.inf > 0)
    throw MissingTensor{"needs a " + tensor.text() + " that is finite", true};
  if (trace.tensorsAt(tensor, place, rank).size() > 1)
    throw MissingTensor{"needs training steps of one microbatch", true};
  return {record, std::move(*values)};
}

Place afterLayers(std::int32_t train_step) {
  return {train_step, Layer::none(), Direction::kBackward, {}};
}

std::vector<WorldRank> tpRanks(const Trace& trace, WorldRank rank) {
  const GroupRecord* tp = trace.groupContaining(rank, GroupAxis::kTp);
  return tp ? tp->members : std::vector{rank};
}

std::vector<WorldRank> tokenOwners(const Trace& trace) {
  std::set<WorldRank> owners;
  for (const auto& group : sequenceGroups(trace))
    for (const WorldRank rank : group) owners.insert(tpRanks(trace, rank).front());
  return {owners.begin(), owners.end()};
}

std::vector<double> weightBefore(const Trace& trace, const std::string& parameter,
                                 std::int32_t train_step, WorldRank rank,
                                 const std::vector<double>& gradient) {
  const RunSpec* run = trace.run();
  const bool first = train_step == 0;
  if (first && (!run || run->command != Command::kTrain))
    throw MissingTensor{"needs the weights that the first training step began with, or a second",
                        true};
  std::vector<double> values = loadTensor(trace, {TensorKind::kWeight, parameter},
                                          afterLayers(first ? 0 : train_step - 1), rank)
                                   .values;
  if (values.size() != gradient.size())
    throw MissingTensor{"needs gradients of the weights' shape", true};
  constexpr double kEps = 1e-8;
  for (std::size_t i = 0; first && i < values.size(); ++i)
    values[i] = (values[i] + run->lr * gradient[i] / (std::abs(gradient[i]) + kEps)) /
                (1 - run->lr * run->weight_decay);
  return values;
}

}  // namespace ringscope::traces

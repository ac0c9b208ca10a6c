// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/contradicted_types.h"

#include <map>
#include <tuple>

#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/format/trace/asserted_types.h"
#include "traces/format/trace/steps.h"

namespace ringscope::traces {
namespace {

/// The assertions of a rank in one training step, in their order, by microbatch, name and shape.
using Asserted =
    std::map<std::tuple<std::int32_t, std::string, std::string>, std::vector<AssertedType>>;

Asserted assertedBy(const Trace& trace, std::int32_t train_step, WorldRank rank) {
  Asserted all;
  for (AssertedType& one : assertedTypes(trace, train_step, rank))
    all[{one.microbatch, one.name, one.shape}].push_back(std::move(one));
  return all;
}

bool isAlike(const AxisType& axis) {
  return axis.type == "R" || axis.type == "I";
}

bool isDifferent(const AssertedType& one, const AssertedType& other) {
  return !one.hash.empty() && !other.hash.empty() && one.hash != other.hash &&
         one.dtype == other.dtype;
}

Finding findingFor(const AssertedType& asserted, const std::string& axis, std::int32_t train_step,
                   WorldRank rank, WorldRank other) {
  const bool is_whole = asserted.dtype.starts_with("int");
  const std::string what = asserted.name.empty() ? "a tensor without a name" : asserted.name;
  Finding finding{
      .confidence = is_whole ? Confidence::kCertain : Confidence::kLikely,
      .title = "No rule names it: a tensor is not replicated, as its type says",
      .place = {train_step, {}, Direction::kForward, {}},
      .rank = rank,
      .buffer = asserted.name,
      .evidence = "The job asserts by spmd_types that " + what + " " + asserted.shape +
                  " has the type " + asserted.axes.at(axis).type + " on the axis " + axis +
                  ": the same values on each rank. Its contents differ between ranks " +
                  toString(other) + " and " + toString(rank) + ".",
      .remedy =
          "Make it the same on all ranks of the axis, for example by a sum over them, or assert "
          "the type that it has: V if ranks have their own values, P if they have parts of a sum."};
  finding.rule = kUnknownMistake;
  return finding;
}

/// Returns the first difference between what a rank and an earlier member of an axis hold alike.
std::optional<Finding> contradiction(const Asserted& own, const std::map<WorldRank, Asserted>& all,
                                     std::int32_t train_step, WorldRank rank) {
  for (const auto& [key, mine] : own)
    for (std::size_t at = 0; at < mine.size(); ++at)
      for (const auto& [axis, type] : mine[at].axes) {
        if (!isAlike(type)) continue;
        for (const WorldRank other : type.members) {
          const auto theirs = all.find(other);
          if (other == rank || theirs == all.end()) continue;
          const auto same = theirs->second.find(key);
          if (same == theirs->second.end() || same->second.size() != mine.size()) continue;
          const auto their_axis = same->second[at].axes.find(axis);
          if (their_axis != same->second[at].axes.end() && isAlike(their_axis->second) &&
              isDifferent(mine[at], same->second[at]))
            return findingFor(mine[at], axis, train_step, rank, other);
        }
      }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> contradictedType(const Trace& trace) {
  for (const std::int32_t train_step : stepsWithTensors(trace)) {
    std::map<WorldRank, Asserted> before;
    for (int at = 0; at < trace.worldSize(); ++at) {
      const WorldRank rank = WorldRank::of(at);
      Asserted own = assertedBy(trace, train_step, rank);
      if (auto finding = contradiction(own, before, train_step, rank)) return finding;
      before.emplace(rank, std::move(own));
    }
  }
  return std::nullopt;
}

}  // namespace ringscope::traces

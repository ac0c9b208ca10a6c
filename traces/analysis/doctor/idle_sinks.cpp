// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/idle_sinks.h"

#include <algorithm>
#include <vector>

#include "traces/format/core/prose.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

/// Returns the number of heads that a rank's queries have, before they travel; 0: not recorded.
std::int64_t ownHeads(const Trace& trace, std::int32_t train_step, WorldRank rank) {
  for (const TensorRecord& q : trace.tensors())
    if (q.tensor.kind == TensorKind::kQ && q.rank == rank && q.place.train_step == train_step &&
        q.place.layer.exists() && !q.place.stage.exists() && q.shape.size() == 4)
      return q.shape[1];
  return 0;
}

/// Reports whether a rank exchanged heads of an attention in a training step, as Ulysses does.
bool exchangesHeads(const Trace& trace, std::int32_t train_step, WorldRank rank) {
  return std::ranges::any_of(trace.events(rank), [&](const Event& event) {
    return event.payload == Payload::kHeads && event.place.train_step == train_step;
  });
}

/// Returns the ranks' gradients of the same sinks; empty when a rank lacks its own.
std::vector<const TensorRecord*> sameGradients(const Trace& trace, const TensorRecord& like,
                                               const std::vector<WorldRank>& members) {
  std::vector<const TensorRecord*> all;
  for (const WorldRank rank : members) {
    const TensorRecord* own = trace.findTensor(like.tensor, like.place, rank);
    if (!own || own->shape != like.shape) return {};
    all.push_back(own);
  }
  return all;
}

/// Reports whether the first `used` numbers are not 0, and all others are.
bool endsInZeros(const std::vector<double>& values, std::size_t used) {
  const auto is_zero = [](double x) { return x == 0; };
  const auto border = values.begin() + static_cast<std::ptrdiff_t>(used);
  return std::none_of(values.begin(), border, is_zero) &&
         std::all_of(border, values.end(), is_zero);
}

}  // namespace

std::optional<Finding> sinksOfFirstHeads(const Trace& trace) {
  if (!isForeign(trace) || lacksGroups(trace)) return std::nullopt;
  for (const TensorRecord& gradient : trace.tensors()) {
    if (gradient.tensor.kind != TensorKind::kGradient || gradient.shape.size() != 1 ||
        gradient.tensor.name.find("sink") == std::string::npos)
      continue;
    for (const auto& members : sequenceGroups(trace)) {
      const std::int64_t heads = gradient.shape.front(), ranks = std::ssize(members);
      if (ranks < 2 || std::ranges::count(members, gradient.rank) == 0 || heads % ranks != 0 ||
          ownHeads(trace, gradient.place.train_step, gradient.rank) != heads)
        continue;
      const auto gradients = sameGradients(trace, gradient, members);
      const auto is_idle = [&](const TensorRecord* own) {
        const auto values = trace.values(*own);
        return values && endsInZeros(*values, static_cast<std::size_t>(heads / ranks)) &&
               exchangesHeads(trace, own->place.train_step, own->rank);
      };
      if (gradients.empty() || !std::ranges::all_of(gradients, is_idle)) continue;
      return Finding{
          .confidence = Confidence::kLikely,
          .title = "Sinks are those of other heads",
          .place = gradient.place,
          .rank = members[1],
          .buffer = gradient.tensor.text(),
          .evidence = "Of " + describeCount(heads, "sink") + " only the first " +
                      describeCount(heads / ranks) +
                      " get a gradient. That is as many heads as "
                      "each of " +
                      describeCount(ranks, "rank") +
                      " attends after an all-to-all, so every rank takes the sinks of the first "
                      "rank's heads for its own.",
          .remedy =
              "Cut the sinks by heads as the all-to-all cuts queries: rank r of P has heads r·H/P "
              "to (r+1)·H/P."};
    }
  }
  return std::nullopt;
}

}  // namespace ringscope::traces

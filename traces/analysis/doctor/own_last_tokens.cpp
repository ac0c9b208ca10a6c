// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/own_last_tokens.h"

#include <algorithm>
#include <vector>

#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

constexpr std::int64_t kFewOwnTokens = 4, kFewSequences = 2;

/// Reports whether dout, [B, H, S, D], has a gradient in the last row alone of every batch entry.
bool isOfLastRows(const TensorRecord& dout, const std::vector<double>& values) {
  const std::int64_t heads = dout.shape[1], tokens = dout.shape[2], width = dout.shape[3];
  std::vector<bool> has_last(static_cast<std::size_t>(dout.shape[0]));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    const auto row = static_cast<std::int64_t>(i) / width;
    if (row % tokens != tokens - 1) return false;
    has_last[static_cast<std::size_t>(row / tokens / heads)] = true;
  }
  return std::ranges::all_of(has_last, [](bool has) { return has; });
}

/// Returns the gradients of the outputs of a step's last attention; empty when a member lacks it.
std::vector<const TensorRecord*> lastGradients(const Trace& trace, std::int32_t train_step,
                                               const std::vector<WorldRank>& members) {
  Layer last = Layer::none();
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor.kind == TensorKind::kDout && tensor.place.train_step == train_step &&
        tensor.place.layer.exists() && (!last.exists() || last < tensor.place.layer))
      last = tensor.place.layer;
  if (!last.exists()) return {};
  std::vector<const TensorRecord*> all;
  for (const WorldRank rank : members) {
    const TensorRecord* dout = trace.findTensor(
        {TensorKind::kDout, ""}, Place{train_step, last, Direction::kBackward, {}}, rank);
    if (!dout || dout->shape.size() != 4 || dout->shape[2] < kFewOwnTokens ||
        dout->shape[0] < kFewSequences)
      return {};
    all.push_back(dout);
  }
  return all;
}

}  // namespace

std::optional<Finding> resultsOfOwnLastTokens(const Trace& trace) {
  if (!isForeign(trace) || lacksGroups(trace) || trace.tensors().empty()) return std::nullopt;
  const std::int32_t train_step = trace.tensors().front().place.train_step;
  for (const auto& members : sequenceGroups(trace)) {
    if (members.size() < 2) continue;
    const auto gradients = lastGradients(trace, train_step, members);
    const bool all = std::ranges::all_of(gradients, [&](const TensorRecord* dout) {
      const auto values = trace.values(*dout);
      return values && isOfLastRows(*dout, *values);
    });
    if (gradients.empty() || !all) continue;
    Finding finding{
        .confidence = Confidence::kLikely,
        .title = "No rule names it: each rank takes its result from its own last token",
        .place = gradients.front()->place,
        .rank = members[0],
        .buffer = "dout",
        .evidence =
            "The gradient of the last attention's output is 0 on every rank but for the "
            "last of its " +
            describeCount(gradients.front()->shape[2], "token") + ", in each of " +
            describeCount(gradients.front()->shape[0], "sequence") + ". So each of the " +
            describeCount(std::ssize(members), "rank") +
            " that share the sequences has a result of its own, such as a score, and only "
            "one of them has the last token of a sequence.",
        .remedy =
            "Find the last token of each sequence before the batch is cut. Take its value on the "
            "rank that has it, and sum it over the cp ranks, where all others give 0."};
    finding.rule = kUnknownMistake;
    return finding;
  }
  return std::nullopt;
}

}  // namespace ringscope::traces

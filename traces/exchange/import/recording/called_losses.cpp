// SPDX-License-Identifier: Apache-2.0
// Which losses a training step consists of.
#include "traces/format/trace/called_losses.h"

#include <algorithm>
#include <limits>
#include <set>

#include "traces/exchange/import/recording/job.h"
#include "traces/exchange/import/recording/tensor_lines.h"

namespace ringscope::traces {
namespace {

/// Reports whether backward does not reach this loss. Older recorders do not say.
bool isEvaluation(const Line& loss) {
  return loss.has("grad") && !loss.flag("grad");
}

/// Reports whether a line of a forward pass would be taken for one of the training step.
bool isOfForward(const Line& line) {
  static const std::set<std::string_view> kKinds = {"buffer", "given", "embedding", "loss"};
  static const std::set<std::string> kTensors = {"logits", "targets", "embedding_input",
                                                 "whole_buffer", "buffer"};
  return kKinds.contains(line.kind()) ||
         (line.kind() == "tensor" && kTensors.contains(line.text("what")));
}

bool isBorder(const Line& line) {
  static const std::set<std::string_view> kKinds = {"loss", "loss_gradient", "optimizer", "step"};
  return kKinds.contains(line.kind());
}

std::int32_t stepOf(const Line& line) {
  return line.place(Direction::kForward).train_step;
}

using Microbatch = std::pair<std::int32_t, std::int64_t>;  // and its training step

Microbatch microbatchOf(const Line& line) {
  return {stepOf(line), line.whole("microbatch", 0)};
}

/// Reports whether a job picked log-probabilities, of which it makes its own loss.
bool isPicked(const Line& loss) {
  return loss.text("operator") == "picked";
}

std::set<std::int32_t> stepsWithBackward(const RankLines& rank) {
  std::set<std::int32_t> steps;
  for (const Line& line : rank.lines)
    if (line.kind() == "loss" && line.flag("grad")) steps.insert(stepOf(line));
  return steps;
}

CalledLoss readLoss(const Line& line) {
  CalledLoss loss;
  const Line made = line.part("made");
  loss.microbatch = static_cast<std::int32_t>(line.whole("microbatch", 0));
  loss.targets = line.whole("targets", 0);
  loss.tokens = countElements(line.wholes("shape"));
  loss.weighted = line.flag("weighted");
  loss.picked = isPicked(line);
  loss.smoothing = line.real("smoothing");
  loss.parameter = made.text("parameter");
  loss.dtype = made.text("dtype");
  loss.tied = made.flag("tied");
  loss.between = made.texts("between");
  return loss;
}

/// Adds what the optimizer is given of the projection that makes the logits. A step with gradients
/// of several, or with several of one, is left out.
void addHeadProducts(const RankLines& rank,
                     std::map<std::int32_t, std::vector<CalledLoss>>& losses) {
  std::map<std::int32_t, std::vector<Line>> heads;
  for (const Line& line : rank.lines)
    if (line.kind() == "head_gradient") heads[stepOf(line)].push_back(line);
  for (auto& [step, called] : losses)
    for (CalledLoss& loss : called) {
      if (heads[step].size() != 1) continue;
      const Line& head = heads[step].front();
      if (!loss.parameter.empty() && loss.parameter != head.text("parameter")) continue;
      loss.head_product = head.real("product");
      loss.head_parts = head.whole("parts", 1);
    }
}

/// Adds what ranks and the optimizer have of another parameter's gradient, to steps with one loss.
void addReferenceGradients(const RankLines& rank,
                           std::map<std::int32_t, std::vector<CalledLoss>>& losses) {
  for (const Line& line : rank.lines) {
    if (line.kind() != "reference_gradient") continue;
    const auto called = losses.find(stepOf(line));
    if (called == losses.end() || called->second.size() != 1) continue;
    called->second.front().local_gradient = line.real("local");
    called->second.front().given_gradient = line.real("given");
  }
}

/// The losses of one rank by training step.
std::map<std::int32_t, std::vector<CalledLoss>> lossesOf(const RankLines& rank) {
  std::map<std::int32_t, std::vector<CalledLoss>> losses;
  std::map<std::int64_t, std::vector<Line>> gradients;
  for (const Line& line : rank.lines)
    if (line.kind() == "loss_gradient") gradients[line.whole("number")].push_back(line);
  for (const Line& line : rank.lines) {
    if (line.kind() != "loss" || !line.flag("grad")) continue;
    CalledLoss loss = readLoss(line);
    const auto found = gradients.find(line.whole("number"));
    if (found != gradients.end() && found->second.size() == 1) {
      const Line weight = found->second.front().part("weight");
      const auto least = weight.real("least"), most = weight.real("most"),
                 mean = weight.real("mean"), off = found->second.front().real("off");
      if (least && most && mean && off) loss.weights = {*least, *most, *mean, *off};
      loss.product = found->second.front().real("product");
      loss.targets = found->second.front().whole("targets", loss.targets);
      for (const Line& entry : found->second.front().parts("entries")) {
        constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
        loss.entries.push_back({entry.whole("targets", 0), entry.real("least").value_or(kNone),
                                entry.real("most").value_or(kNone)});
      }
    }
    losses[stepOf(line)].push_back(std::move(loss));
  }
  addHeadProducts(rank, losses);
  addReferenceGradients(rank, losses);
  return losses;
}

}  // namespace

void leaveOutUnusedPicks(RankLines& rank) {
  std::set<std::int64_t> used;
  std::set<Microbatch> with_loss;
  for (const Line& line : rank.lines) {
    if (line.kind() == "loss_gradient" && line.has("used")) used.insert(line.whole("number"));
    if (line.kind() == "loss" && line.flag("grad") && !isPicked(line))
      with_loss.insert(microbatchOf(line));
  }
  leaveOutWithTensors(rank, [&](const Line& line) {
    return line.kind() == "loss" && isPicked(line) &&
           (!used.contains(line.whole("number")) || with_loss.contains(microbatchOf(line)));
  });
}

void leaveOutRecomputedLosses(RankLines& rank) {
  const auto is_recomputed = [](const Line& line) { return line.text("pass") == "backward"; };
  std::set<Microbatch> forward;
  for (const Line& line : rank.lines)
    if (line.kind() == "loss" && line.flag("grad") && !is_recomputed(line))
      forward.insert(microbatchOf(line));
  leaveOutWithTensors(rank, [&](const Line& line) {
    return line.kind() == "loss" && is_recomputed(line) && forward.contains(microbatchOf(line));
  });
}

void leaveOutEvaluations(RankLines& rank) {
  const std::set<std::int32_t> steps = stepsWithBackward(rank);
  std::set<std::size_t> left_out;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < rank.lines.size(); ++i) {
    const Line& line = rank.lines[i];
    if (line.kind() == "loss" && isEvaluation(line) && steps.contains(stepOf(line)))
      for (std::size_t at = begin; at <= i; ++at)
        if (isOfForward(rank.lines[at])) left_out.insert(at);
    if (isBorder(line)) begin = i + 1;
  }
  std::size_t at = 0;
  std::erase_if(rank.lines, [&](const Line&) { return left_out.contains(at++); });
}

void addCalledLosses(RecordedJob& job) {
  std::map<std::int32_t, nlohmann::json> steps;
  for (const RankLines& rank : job.ranks)
    for (const auto& [step, losses] : lossesOf(rank)) {
      nlohmann::json& own = steps[step][toString(rank.rank)] = nlohmann::json::array();
      for (const CalledLoss& loss : losses) own.push_back(toJson(loss));
    }
  for (const auto& [step, ranks] : steps)
    job.notes.push_back({calledLossesKey(step), ranks.dump()});
}

}  // namespace ringscope::traces

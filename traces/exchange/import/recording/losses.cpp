// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "traces/exchange/import/recording/labels.h"
#include "traces/exchange/import/recording/tensor_lines.h"
#include "traces/format/core/error.h"
#include "traces/format/core/hash.h"
#include "traces/format/schema/other_tensors.h"

namespace ringscope::traces {
namespace {

std::function<Bytes()> made(Bytes bytes) {
  return [bytes = std::move(bytes)] { return bytes; };
}

/// The inputs and the results of one rank's loss.
class LossLines {
 public:
  LossLines(RecordedJob& job, const RankLines& rank, const TensorLines& lines, TensorSink& sink)
      : job_(job), rank_(rank), lines_(lines), sink_(sink) {
    for (const Line& line : rank_.lines)
      if (line.kind() == "loss_gradient" && line.has("used"))
        used_[line.whole("number")] = line.whole("used");
  }

  /// Adds the targets in the shape of the token ids. A loss that left out the last row of each
  /// sequence has no target there.
  void addTargets() {
    for (const Line& line : rank_.lines) {
      if (line.kind() != "loss" || isOfFurtherHead(line)) continue;
      const std::int32_t step = line.place(Direction::kForward).train_step;
      const Line* targets = targetsOf(line);
      const ShardRecord* ids = job_.shard("input_ids", step, rank_.rank);
      if (!targets || !ids) continue;
      const std::int64_t given = countElements(targets->wholes("shape")),
                         owned = countElements(ids->local_shape);
      const bool without_last = ids->local_shape.size() == 2 && given > 0 &&
                                given == owned - ids->local_shape.front() &&
                                targets->text("dtype") == "int64";
      if (given != owned && !without_last) continue;
      TensorRecord tensor;
      tensor.tensor = {TensorKind::kBuffer, "labels"};
      tensor.place = {step};
      tensor.shape = ids->local_shape;
      if (given == owned)
        sink_.add(std::move(tensor), *targets);
      else
        addWithoutLast(std::move(tensor), *targets, line.real("ignore_index").value_or(-100));
      if (job_.shard("labels", step, rank_.rank)) continue;
      ShardRecord made = *ids;
      made.buffer = "labels";
      made.sharded = false;
      made.full_shape.clear();
      job_.addShard(std::move(made));
    }
  }

  /// Adds the targets of heads that predict later tokens, of the first microbatch of each step.
  void addFurtherTargets() {
    std::map<std::int32_t, int> heads;
    for (const Line& line : rank_.lines) {
      if (!isOfFurtherHead(line) || line.whole("microbatch", 0) != 0) continue;
      const std::int32_t step = line.place(Direction::kForward).train_step;
      const Line* targets = targetsOf(line);
      const ShardRecord* ids = job_.shard("input_ids", step, rank_.rank);
      const int head = ++heads[step];
      if (!targets || !ids ||
          countElements(targets->wholes("shape")) != countElements(ids->local_shape))
        continue;
      TensorRecord tensor;
      tensor.tensor = {TensorKind::kOther, kFurtherLabels + std::to_string(head)};
      tensor.place = {step};
      tensor.shape = ids->local_shape;
      sink_.add(std::move(tensor), *targets);
    }
  }

  /// Adds the rank's sum over the microbatches of each training step.
  void addSums() {
    std::map<std::int32_t, std::pair<double, std::int64_t>> sums;
    std::set<std::int32_t> unknown;
    for (const Line& line : rank_.lines) {
      if (line.kind() != "loss" || isOfFurtherHead(line)) continue;
      const std::int32_t step = line.place(Direction::kForward).train_step;
      const auto sum = line.real("sum");
      const std::int64_t targets = line.whole("targets");
      if (!sum || line.flag("weighted") || targets < 0) {
        unknown.insert(step);
        continue;
      }
      sums[step].first += *sum;
      sums[step].second += std::min(targets, kMostTargets);
    }
    for (const auto& [step, sum] : sums) {
      if (unknown.contains(step)) continue;
      addNumber(step, kOwnLossSum, DType::kFloat64, sum.first, sum.first);
      addNumber(step, kOwnTargets, DType::kInt64, sum.second, static_cast<double>(sum.second));
    }
  }

 private:
  /// Returns the targets of a loss: of those that are known, the ones of rows with a gradient.
  const Line* targetsOf(const Line& loss) const {
    const auto used = used_.find(loss.whole("number"));
    return lines_.of(used != used_.end() ? used->second : loss.part("tensors").whole("targets"));
  }

  // sums of so many targets are exact
  static constexpr std::int64_t kMostTargets = std::int64_t{1} << 40;

  void addWithoutLast(TensorRecord tensor, const Line& targets, double ignored) {
    const auto kept =
        job_.values->of(targets, DType::kInt64, targets.wholes("shape"), rank_.hash, job_.problems);
    if (!kept) return;
    constexpr double kMost = 1e15;
    try {
      auto labels =
          labelsWithoutLast(tensor, job_.values->read(*kept),
                            static_cast<std::int64_t>(std::clamp(ignored, -kMost, kMost)));
      sink_.keep(std::move(tensor), made(std::move(labels)));
    } catch (const Error& error) {
      job_.problems.emplace_back(error.what());
    }
  }

  template <typename Number>
  void addNumber(std::int32_t step, const char* name, DType dtype, Number number, double value) {
    TensorRecord tensor;
    tensor.tensor = {TensorKind::kOther, name};
    tensor.place = {step};
    tensor.dtype = dtype;
    tensor.shape = {1};
    tensor.stats = {value, value, value, std::abs(value), 0, 0};
    tensor.hash = mixSum64(&number, sizeof number);
    Bytes bytes(sizeof number);
    std::memcpy(bytes.data(), &number, sizeof number);
    sink_.keep(std::move(tensor), made(std::move(bytes)));
  }

  RecordedJob& job_;
  const RankLines& rank_;
  const TensorLines& lines_;
  TensorSink& sink_;
  std::map<std::int64_t, std::int64_t> used_;  // tensors of targets by the number of their loss
};

}  // namespace

void addLosses(RecordedJob& job, const RankLines& rank, const TensorLines& lines,
               TensorSink& sink) {
  LossLines losses(job, rank, lines, sink);
  losses.addTargets();
  losses.addFurtherTargets();
  losses.addSums();
}

}  // namespace ringscope::traces

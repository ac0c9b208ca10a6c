// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/head_parts.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "traces/analysis/verify/recompute/least_squares.h"
#include "traces/analysis/verify/recompute/sixteen_bits.h"
#include "traces/analysis/verify/recompute/step_loss.h"
#include "traces/format/core/to_index.h"
#include "traces/format/schema/score_rule.h"
#include "traces/format/trace/observed_model.h"

namespace ringscope::traces {
namespace {

using Values = std::vector<double>;

/// The largest number of rows and columns of one tp rank's slice that are compared.
constexpr std::size_t kRows = 32, kColumns = 16;
constexpr double kLargestToken = 1e15;
constexpr const char* kHead = "lm_head.weight";
constexpr const char* kEmbedding = "model.embed_tokens.weight";

/// The part of the vocabulary in one slice, and the tokens that are compared.
struct Choice {
  std::size_t first = 0, size = 0;
  std::vector<std::size_t> rows, columns;  ///< indices within the slice
};

class HeadReader {
 public:
  HeadReader(const Trace& trace, std::int32_t train_step)
      : trace_(trace), train_step_(train_step), loss_(stepLoss(trace, train_step)) {
    head_.open = loss_.isKnown() ? loss_.unlike_product : loss_.unlike;
    if (!loss_.parameter.empty()) {
      head_.parameter = loss_.parameter;
      return;
    }
    const bool has_head = std::ranges::any_of(trace.tensors(), [&](const TensorRecord& tensor) {
      return tensor.tensor == TensorName{TensorKind::kGradient, kHead} &&
             tensor.place.train_step == train_step;
    });
    const auto seen = findOutputProjection(trace);
    head_.parameter = seen ? seen->parameter : has_head ? kHead : kEmbedding;
    loss_.tied = seen ? seen->tied : !has_head;
  }

  HeadParts read() {
    findOwners();
    findSlices();
    if (head_.alike && train_step_ > 0) expectSameWeights();
    for (std::size_t owner = 0; owner < labels_.size(); ++owner) addParts(owner);
    expectComparable();
    return std::move(head_);
  }

 private:
  void findOwners() {
    const std::vector<WorldRank> owners = tokenOwners(trace_);
    const RunSpec* run = trace_.run();
    if (!run || owners.size() != toIndex(static_cast<std::int64_t>(run->dp) * run->cp))
      throw MissingTensor{"needs what all ranks recorded; join their files with ringscope merge",
                          true};
    for (const WorldRank rank : owners) {
      const IntentRecord* intent = trace_.intent(train_step_, rank);
      if (!intent || intent->loss != LossReduction::kMeanOverTargets ||
          intent->gradients_over != GroupAxis::kDpCp)
        throw MissingTensor{"needs to know that the loss is meant to be the mean over all targets",
                            true};
      labels_.push_back(
          loadTensor(trace_, {TensorKind::kBuffer, "labels"}, {train_step_}, rank).values);
      head_.owners.push_back(
          {rank, std::ranges::count_if(labels_.back(), [](double label) { return label >= 0; }),
           cpRankOf(rank)});
    }
    if (head_.targets() == 0) throw MissingTensor{"needs a token with a target", true};
  }

  std::optional<std::size_t> cpRankOf(WorldRank rank) const {
    const GroupRecord* cp = trace_.groupContaining(rank, GroupAxis::kCp);
    if (!cp) return std::nullopt;
    return static_cast<std::size_t>(std::ranges::find(cp->members, rank) - cp->members.begin());
  }

  void findSlices() {
    const std::size_t count = tpRanks(trace_, head_.owners.front().rank).size();
    for (std::size_t s = 0; s < count; ++s) {
      HeadParts::Slice slice;
      for (const HeadParts::Owner& owner : head_.owners) {
        const auto ranks = tpRanks(trace_, owner.rank);
        if (ranks.size() != count) throw MissingTensor{"needs tp groups of one size", true};
        slice.ranks.push_back(ranks[s]);
      }
      addProducts(slice);
      head_.slices.push_back(std::move(slice));
    }
  }

  TensorName gradient() const { return {TensorKind::kGradient, head_.parameter}; }

  /// Adds grad·Wᵀ of each rank. A rank whose gradient equals the first one's is not computed again.
  void addProducts(HeadParts::Slice& slice) {
    const LoadedTensor first =
        loadTensor(trace_, gradient(), afterLayers(train_step_), slice.ranks.front());
    const auto& shape = first.record->shape;
    if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1)
      throw MissingTensor{"needs a gradient of two dimensions of " + head_.parameter, true};
    choose(toIndex(shape[0]));
    for (const WorldRank rank : slice.ranks) {
      const TensorRecord* own = trace_.findTensor(gradient(), afterLayers(train_step_), rank);
      if (!own) {
        slice.products.emplace_back();
      } else if (own == first.record) {
        slice.products.push_back(productOf(first, rank));
      } else if (own->hash == first.record->hash) {
        slice.products.push_back(slice.products.front());
      } else {
        head_.alike = false;
        slice.products.push_back(productOf(rank, first));
      }
    }
  }

  /// Returns grad·Wᵀ in the chosen rows and columns of the last slice.
  Values productOf(const LoadedTensor& gradient, WorldRank rank) const {
    const Values weight = weightBefore(trace_, head_.parameter, train_step_, rank, gradient.values);
    const std::size_t width = toIndex(gradient.record->shape[1]);
    Values product;
    for (const std::size_t row : choices_.back().rows)
      for (const std::size_t column : choices_.back().columns) {
        double sum = 0;
        for (std::size_t h = 0; h < width; ++h)
          sum += gradient.values[row * width + h] * weight[column * width + h];
        product.push_back(sum);
      }
    return product;
  }

  /// Returns grad·Wᵀ of a rank; empty when its tensors are not all recorded.
  Values productOf(WorldRank rank, const LoadedTensor& first) const {
    try {
      const LoadedTensor own = loadTensor(trace_, gradient(), afterLayers(train_step_), rank);
      return own.record->shape == first.record->shape ? productOf(own, rank) : Values();
    } catch (const MissingTensor&) {
      return {};
    }
  }

  /// Throws MissingTensor when ranks have different weights: their parts do not belong to one sum.
  void expectSameWeights() const {
    const TensorName weight{TensorKind::kWeight, head_.parameter};
    for (const HeadParts::Slice& slice : head_.slices) {
      const auto of = [&](WorldRank rank) {
        return trace_.findTensor(weight, afterLayers(train_step_ - 1), rank);
      };
      for (const WorldRank rank : slice.ranks)
        if (of(rank) && of(rank)->hash != of(slice.ranks.front())->hash)
          throw MissingTensor{"needs weights that all ranks have alike", true};
    }
  }

  /// Returns the input tokens. If input and output share a weight, the gradient of these tokens has
  /// parts from both.
  std::set<std::int64_t> inputTokens() const {
    std::set<std::int64_t> tokens;
    for (const HeadParts::Owner& owner : head_.owners)
      for (const double id :
           loadTensor(trace_, {TensorKind::kBuffer, "input_ids"}, {train_step_}, owner.rank).values)
        if (id >= 0 && id <= kLargestToken) tokens.insert(static_cast<std::int64_t>(id));
    return tokens;
  }

  /// Chooses labels of every rank first, because these distinguish the ranks' parts, then any
  /// tokens. Columns are chosen evenly.
  void choose(std::size_t size) {
    if (choices_.empty() && loss_.tied) taken_ = inputTokens();
    Choice choice;
    choice.first = choices_.empty() ? 0 : choices_.back().first + choices_.back().size;
    choice.size = size;
    std::set<std::size_t> rows;
    const auto add = [&](double token) {
      if (token < static_cast<double>(choice.first) || rows.size() >= kRows ||
          token >= static_cast<double>(choice.first + size) ||
          taken_.contains(static_cast<std::int64_t>(token)))
        return;
      rows.insert(static_cast<std::size_t>(token) - choice.first);
    };
    std::size_t longest = 0;
    for (const Values& labels : labels_) longest = std::max(longest, labels.size());
    for (std::size_t i = 0; i < longest && rows.size() < kRows; ++i)
      for (const Values& labels : labels_)
        if (i < labels.size()) add(labels[i]);
    for (std::size_t i = 0; i < size && rows.size() < kRows; ++i)
      add(static_cast<double>(choice.first + i));
    choice.rows.assign(rows.begin(), rows.end());
    const std::size_t columns = std::min(kColumns, size);
    for (std::size_t i = 0; i < columns; ++i) choice.columns.push_back(i * size / columns);
    choices_.push_back(std::move(choice));
  }

  void addParts(std::size_t owner) {
    const std::size_t tokens = labels_[owner].size();
    std::vector<LoadedTensor> logits;
    for (std::size_t s = 0; s < choices_.size(); ++s) {
      logits.push_back(
          loadTensor(trace_, {TensorKind::kLogits}, {train_step_}, head_.slices[s].ranks[owner]));
      if (logits.back().values.size() != tokens * choices_[s].size)
        throw MissingTensor{"needs logits for every label", true};
      head_.slices[s].parts.emplace_back(choices_[s].rows.size() * choices_[s].columns.size(), 0);
    }
    const bool narrow =
        loss_.narrow_product || std::ranges::all_of(logits, [](const LoadedTensor& tensor) {
          return fitSixteenBits(tensor.values);
        });
    head_.rounding = std::max(head_.rounding, narrow ? kSixteenBitShare : 1e-3);
    for (std::size_t token = 0; token < tokens; ++token)
      if (labels_[owner][token] >= 0) addToken(owner, token, logits);
  }

  void addToken(std::size_t owner, std::size_t token, const std::vector<LoadedTensor>& logits) {
    const auto logit = [&](std::size_t s, std::size_t i) {
      return logits[s].values[token * choices_[s].size + i];
    };
    double largest = logit(0, 0), sum = 0;
    for (std::size_t s = 0; s < choices_.size(); ++s)
      for (std::size_t i = 0; i < choices_[s].size; ++i) largest = std::max(largest, logit(s, i));
    for (std::size_t s = 0; s < choices_.size(); ++s)
      for (std::size_t i = 0; i < choices_[s].size; ++i) sum += std::exp(logit(s, i) - largest);
    const double lse = largest + std::log(sum);
    const ScoreRule cap{1, loss_.logit_softcap};
    const double label = labels_[owner][token];
    const auto classes = static_cast<double>(choices_.back().first + choices_.back().size);
    for (std::size_t s = 0; s < choices_.size(); ++s) {
      double* part = head_.slices[s].parts[owner].data();
      for (const std::size_t row : choices_[s].rows) {
        const bool is_label = static_cast<double>(choices_[s].first + row) == label;
        const double target = (is_label ? 1 - loss_.smoothing : 0) + loss_.smoothing / classes;
        const double dlogit = (std::exp(logit(s, row) - lse) - target) / head_.targets(),
                     dproduct = dlogit * cap.slope(logit(s, row));
        for (const std::size_t column : choices_[s].columns)
          *part++ += dproduct * cap.product(logit(s, column));
      }
    }
  }

  void expectComparable() const {
    double left = 0, right = 0;
    for (const HeadParts::Slice& slice : head_.slices) {
      Values sum(slice.products.front().size(), 0);
      for (const Values& part : slice.parts)
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
      left += dot(slice.products.front(), slice.products.front());
      right += dot(sum, sum);
    }
    if (!(right > 0) || !std::isfinite(left))
      throw MissingTensor{"needs tokens that are in no input, as input and output share a weight",
                          true};
  }

  const Trace& trace_;
  std::int32_t train_step_;
  StepLoss loss_;
  HeadParts head_;
  std::vector<Values> labels_;    // of each owner
  std::set<std::int64_t> taken_;  // tokens that are not compared
  std::vector<Choice> choices_;   // of each slice
};

}  // namespace

double HeadParts::targets() const {
  double sum = 0;
  for (const Owner& owner : owners) sum += static_cast<double>(owner.targets);
  return sum;
}

HeadParts headParts(const Trace& trace, std::int32_t train_step) {
  return HeadReader(trace, train_step).read();
}

}  // namespace ringscope::traces

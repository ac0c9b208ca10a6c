// SPDX-License-Identifier: Apache-2.0
#include "traces/doctor/head_gradient.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "traces/doctor/least_squares.h"
#include "traces/doctor/step_tensors.h"
#include "traces/query/sequence_groups.h"

namespace ringscope::traces {
namespace {

using Values = std::vector<double>;

/// Rows and columns of one tp rank's slice that are compared: a few tell.
constexpr std::size_t kRows = 32, kColumns = 16;
constexpr double kLargestToken = 1e15;
constexpr const char* kHead = "lm_head.weight";
constexpr const char* kTied = "model.embed_tokens.weight";

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

/// One tp rank's part of the projection.
struct Slice {
  std::size_t first = 0, size = 0;         ///< tokens of the vocabulary
  std::vector<std::size_t> rows, columns;  ///< within it
  Values product;                          ///< grad·Wᵀ
  std::vector<Values> parts;               ///< Σ dlogitsᵀ·logits of each owner's tokens
};

/// The tokens of one rank that has some of its own.
struct Owner {
  WorldRank rank;
  Values labels;
};

class Reader {
 public:
  Reader(const Trace& trace, std::int32_t train_step)
      : trace_(trace), train_step_(train_step), parameter_(kHead) {
    const auto& all = trace.tensors();
    if (std::ranges::none_of(all, [&](const TensorRecord& tensor) {
          return tensor.tensor == TensorName{TensorKind::kGradient, kHead} &&
                 tensor.place.train_step == train_step;
        }))
      parameter_ = kTied;
  }

  HeadGradient read() {
    HeadGradient reading;
    reading.parameter = parameter_;
    try {
      findOwners();
      findSlices();
      for (std::size_t owner = 0; owner < owners_.size(); ++owner) addPart(owner);
      reading.rounding = rounding_;
      compare(reading);
    } catch (const MissingTensor& missing) {
      reading.missing = missing.why;
      reading.recorded = missing.recorded;
    }
    return reading;
  }

 private:
  void findOwners() {
    std::set<WorldRank> first;
    for (const auto& group : sequenceGroups(trace_))
      for (const WorldRank rank : group) first.insert(tpRanks(trace_, rank).front());
    const RunSpec* run = trace_.run();
    if (!run || first.size() != at(static_cast<std::int64_t>(run->dp) * run->cp))
      throw MissingTensor{"needs what all ranks recorded; join their files with ringscope merge",
                          true};
    for (const WorldRank rank : first) {
      const IntentRecord* intent = trace_.intent(train_step_, rank);
      if (!intent || intent->loss != LossReduction::kMeanOverTargets ||
          intent->gradients_over != GroupAxis::kDpCp)
        throw MissingTensor{"needs to know that the loss is meant to be the mean over all targets",
                            true};
      owners_.push_back(
          {rank, loadTensor(trace_, {TensorKind::kBuffer, "labels"}, {train_step_}, rank).values});
      targets_ += static_cast<double>(
          std::ranges::count_if(owners_.back().labels, [](double label) { return label >= 0; }));
    }
    if (targets_ == 0) throw MissingTensor{"needs a token with a target", true};
  }

  /// All ranks that hold a slice have the same gradient of it after the sync.
  void expectSynchronised(const TensorRecord& gradient, std::size_t tp_rank) const {
    for (const Owner& owner : owners_) {
      const auto ranks = tpRanks(trace_, owner.rank);
      const TensorRecord* other =
          tp_rank < ranks.size()
              ? trace_.findTensor(gradient.tensor, gradient.place, ranks[tp_rank])
              : nullptr;
      if (other && other->hash != gradient.hash)
        throw MissingTensor{"needs gradients that all ranks have alike", true};
    }
  }

  void findSlices() {
    const auto ranks = tpRanks(trace_, owners_.front().rank);
    const std::set<std::int64_t> taken =
        parameter_ == kTied ? inputTokens() : std::set<std::int64_t>();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const LoadedTensor gradient = loadTensor(trace_, {TensorKind::kGradient, parameter_},
                                               afterLayers(train_step_), ranks[i]);
      expectSynchronised(*gradient.record, i);
      const auto& shape = gradient.record->shape;
      if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1)
        throw MissingTensor{"needs a gradient of two dimensions of " + parameter_, true};
      const Values weight =
          weightBefore(trace_, parameter_, train_step_, ranks[i], gradient.values);
      Slice slice;
      slice.first = slices_.empty() ? 0 : slices_.back().first + slices_.back().size;
      slice.size = at(shape[0]);
      slice.parts.resize(owners_.size());
      choose(slice, taken);
      const std::size_t width = at(shape[1]);
      for (const std::size_t row : slice.rows)
        for (const std::size_t column : slice.columns) {
          double sum = 0;
          for (std::size_t h = 0; h < width; ++h)
            sum += gradient.values[row * width + h] * weight[column * width + h];
          slice.product.push_back(sum);
        }
      slices_.push_back(std::move(slice));
    }
  }

  /// Where input and output share a weight, its gradient has parts of both save for these tokens.
  std::set<std::int64_t> inputTokens() const {
    std::set<std::int64_t> tokens;
    for (const Owner& owner : owners_)
      for (const double id :
           loadTensor(trace_, {TensorKind::kBuffer, "input_ids"}, {train_step_}, owner.rank).values)
        if (id >= 0 && id <= kLargestToken) tokens.insert(static_cast<std::int64_t>(id));
    return tokens;
  }

  /// Labels of every rank, since these tell the ranks' parts apart, then any; columns evenly.
  void choose(Slice& slice, const std::set<std::int64_t>& taken) const {
    std::set<std::size_t> rows;
    const auto add = [&](double token) {
      if (token < static_cast<double>(slice.first) || rows.size() >= kRows ||
          token >= static_cast<double>(slice.first + slice.size) ||
          taken.contains(static_cast<std::int64_t>(token)))
        return;
      rows.insert(static_cast<std::size_t>(token) - slice.first);
    };
    std::size_t longest = 0;
    for (const Owner& owner : owners_) longest = std::max(longest, owner.labels.size());
    for (std::size_t i = 0; i < longest && rows.size() < kRows; ++i)
      for (const Owner& owner : owners_)
        if (i < owner.labels.size()) add(owner.labels[i]);
    for (std::size_t i = 0; i < slice.size && rows.size() < kRows; ++i)
      add(static_cast<double>(slice.first + i));
    slice.rows.assign(rows.begin(), rows.end());
    const std::size_t columns = std::min(kColumns, slice.size);
    for (std::size_t i = 0; i < columns; ++i) slice.columns.push_back(i * slice.size / columns);
  }

  void addPart(std::size_t index) {
    const Owner& owner = owners_[index];
    const std::size_t tokens = owner.labels.size();
    std::vector<LoadedTensor> logits;
    const auto ranks = tpRanks(trace_, owner.rank);
    if (ranks.size() != slices_.size()) throw MissingTensor{"needs tp groups of one size", true};
    for (std::size_t s = 0; s < slices_.size(); ++s) {
      logits.push_back(loadTensor(trace_, {TensorKind::kLogits}, {train_step_}, ranks[s]));
      if (logits.back().values.size() != tokens * slices_[s].size)
        throw MissingTensor{"needs logits for every label", true};
    }
    const DType dtype = logits.front().record->dtype;
    rounding_ = dtype == DType::kBFloat16 || dtype == DType::kFloat16 ? 0.015 : 1e-3;
    for (Slice& slice : slices_)
      slice.parts[index].assign(slice.rows.size() * slice.columns.size(), 0);
    for (std::size_t token = 0; token < tokens; ++token)
      if (owner.labels[token] >= 0) addToken(index, token, logits);
  }

  void addToken(std::size_t index, std::size_t token, const std::vector<LoadedTensor>& logits) {
    const auto logit = [&](std::size_t s, std::size_t i) {
      return logits[s].values[token * slices_[s].size + i];
    };
    double largest = logit(0, 0), sum = 0;
    for (std::size_t s = 0; s < slices_.size(); ++s)
      for (std::size_t i = 0; i < slices_[s].size; ++i) largest = std::max(largest, logit(s, i));
    for (std::size_t s = 0; s < slices_.size(); ++s)
      for (std::size_t i = 0; i < slices_[s].size; ++i) sum += std::exp(logit(s, i) - largest);
    const double lse = largest + std::log(sum);
    const double label = owners_[index].labels[token];
    for (std::size_t s = 0; s < slices_.size(); ++s) {
      const Slice& slice = slices_[s];
      double* part = slices_[s].parts[index].data();
      for (const std::size_t row : slice.rows) {
        const double dlogit = (std::exp(logit(s, row) - lse) -
                               (static_cast<double>(slice.first + row) == label ? 1 : 0)) /
                              targets_;
        for (const std::size_t column : slice.columns) *part++ += dlogit * logit(s, column);
      }
    }
  }

  void compare(HeadGradient& reading) const {
    Values left, right;
    for (const Slice& slice : slices_) {
      left.insert(left.end(), slice.product.begin(), slice.product.end());
      Values sum(slice.product.size(), 0);
      for (const Values& part : slice.parts)
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
      right.insert(right.end(), sum.begin(), sum.end());
    }
    const double right_size = dot(right, right), left_size = dot(left, left);
    if (!(right_size > 0) || !std::isfinite(left_size))
      throw MissingTensor{"needs tokens that are in no input, as input and output share a weight",
                          true};
    const double size = std::sqrt(std::max(right_size, left_size));
    reading.factor = dot(left, right) / right_size;
    reading.off = distance(left, right, 1) / size;
    reading.off_scaled = distance(left, right, reading.factor) / size;
    for (std::size_t s = 0; s < slices_.size(); ++s) solve(reading, s);
  }

  /// The factor of each rank's part of one slice.
  void solve(HeadGradient& reading, std::size_t s) const {
    std::vector<std::size_t> known;
    std::vector<Values> columns;
    for (std::size_t i = 0; i < owners_.size(); ++i)
      if (dot(slices_[s].parts[i], slices_[s].parts[i]) > 0) {
        known.push_back(i);
        columns.push_back(slices_[s].parts[i]);
      }
    const auto solution = leastSquares(columns, slices_[s].product, rounding_);
    if (!solution) return;
    for (std::size_t i = 0; i < known.size(); ++i)
      reading.ranks.push_back(
          {tpRanks(trace_, owners_[known[i]].rank)[s], solution->factors[i], solution->errors[i]});
    reading.off_by_rank = std::max(reading.off_by_rank, solution->off);
  }

  const Trace& trace_;
  std::int32_t train_step_;
  std::string parameter_;
  std::vector<Owner> owners_;
  double targets_ = 0, rounding_ = 0;
  std::vector<Slice> slices_;
};

}  // namespace

std::vector<std::int32_t> stepsWithGradients(const Trace& trace) {
  std::set<std::int32_t> steps;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor.kind == TensorKind::kGradient && tensor.has_values)
      steps.insert(tensor.place.train_step);
  return {steps.begin(), steps.end()};
}

HeadGradient readHeadGradient(const Trace& trace, std::int32_t train_step) {
  return Reader(trace, train_step).read();
}

}  // namespace ringscope::traces

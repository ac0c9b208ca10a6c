// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/step_ends.h"

#include <ATen/ATen.h>

#include <cmath>

#include "engine/tensors/wide.h"
#include "engine/verify/difference.h"
#include "engine/verify/error_measure.h"
#include "engine/verify/projection_variance.h"
#include "engine/verify/rounding_limits.h"
#include "engine/verify/sink_error.h"
#include "traces/analysis/diff/summary.h"

namespace ringscope::engine {

using traces::DiffRecord;
using traces::Direction;

namespace {

DiffRecord outsideLayers(std::int32_t train_step, Direction direction, std::string tensor) {
  DiffRecord diff;
  diff.isolated = false;
  diff.place = {train_step, Layer::none(), direction, {}};
  diff.tensor = std::move(tensor);
  return diff;
}

/// The loss of each target, fp64.
at::Tensor lossesOf(const at::Tensor& logits, const at::Tensor& labels) {
  const at::Tensor known = labels >= 0, of = labels.masked_select(known).unsqueeze(-1),
                   rows = logits.detach().to(at::kDouble).index({known});
  return at::logsumexp(rows, {-1}) - rows.gather(-1, of).squeeze(-1);
}

/// Returns the reference and limit of the mean loss of these logits in fp32. A loss is the
/// difference of a log-sum-exp, which is off by its own size, and a sum, which is off by a few
/// roundings.
HeldTo lossOfLogits(const at::Tensor& logits, const at::Tensor& labels) {
  constexpr double kFew = 16;
  const double loss = lossesOf(logits, labels).mean().item<double>(),
               size = 1 + logits.detach().abs().max().item<double>();
  return {at::tensor({loss}, at::kDouble),
          at::tensor({kFew * unitRoundoff(at::kFloat) * size}, at::kDouble)};
}

at::Tensor joined(const std::vector<RankStep>& ranks, at::Tensor RankStep::*tensor,
                  std::int64_t seq_dim, const BatchLayout& layout) {
  std::vector<at::Tensor> shards;
  shards.reserve(ranks.size());
  for (const RankStep& rank : ranks) shards.push_back(rank.*tensor);
  return layout.unshard(shards, seq_dim);
}

/// The 2-norm of all gradients together, and that of what one device makes wrong in them.
std::pair<double, double> normAndError(const UnshardedStep& exact, const UnshardedStep& device) {
  double squares = 0, errors = 0;
  for (const auto& [name, gradient] : exact.gradients) {
    const at::Tensor off = device.gradients.at(name).to(at::kDouble) - gradient;
    squares += at::square(gradient).sum().item<double>();
    errors += at::square(off).sum().item<double>();
  }
  return {std::sqrt(squares), std::isfinite(errors) ? std::sqrt(errors) : 0.0};
}

/// The layer whose attention sinks this parameter is; null: it is none.
const LayerAttention* layerOfSinks(const std::string& name, const UnshardedStep& step) {
  for (Layer layer = Layer::of(0); layer.index() < step.layers.size(); layer = layer.next()) {
    const LayerAttention& attention = step.layers[layer.index()];
    if (attention.sinks.defined() && name == LlamaWeights::sinksName(layer)) return &attention;
  }
  return nullptr;
}

/// Adds the mean squares of the errors of sums over ranks, [rows].
void addSums(std::optional<TensorVariance>& variance, const at::Tensor& squares) {
  if (!squares.defined()) return;
  const Wide of_rows(squares);
  if (!variance) variance.emplace().rows.resize(static_cast<std::size_t>(of_rows.size()));
  for (std::size_t i = 0; i < variance->rows.size(); ++i)
    variance->rows[i].merging += of_rows[static_cast<std::int64_t>(i)];
}

}  // namespace

std::vector<HeldTo> gradientReferences(const std::string& name,
                                       const StepVerifier::Unsharded& unsharded,
                                       const std::vector<AttentionVariance>& variances,
                                       const at::Tensor& summing) {
  const at::Tensor &exact = unsharded.exact.gradients.at(name),
                   &device = unsharded.device.gradients.at(name);
  const LayerAttention* of_sinks = layerOfSinks(name, unsharded.exact);
  auto variance = of_sinks ? sinkVariance(of_sinks->sinks[0], *of_sinks, device.scalar_type())
                           : projectionVariance(name, unsharded.exact, variances);
  if (variance && !variance->isComparable()) variance.reset();
  std::optional<TensorVariance> of_sum;
  addSums(of_sum, summing);
  addSums(variance, summing);
  // A product that tp ranks share is the sum of as many parts, each rounded where one device rounds
  // the whole.
  const double parts = std::sqrt(unsharded.tp);
  std::vector<HeldTo> held{
      {exact, parts * parameterLimits(exact, device, variance ? &*variance : nullptr)}};
  // The gradient of sinks is a result of attention itself.
  const auto around = unsharded.exact_around.find(name);
  if (!of_sinks && around != unsharded.exact_around.end() && isComparable(around->second))
    held.push_back(
        {around->second, parts * parameterLimits(around->second, unsharded.device_around.at(name),
                                                 of_sum ? &*of_sum : nullptr)});
  return held;
}

at::Tensor summingErrors(const std::string& name, const std::vector<RankStep>& ranks) {
  constexpr double kRms = 0.41;
  at::Tensor sum, squares;
  double u = 0;
  for (std::size_t dp = 0; dp < ranks.front().own_gradients.size(); ++dp)
    for (const RankStep& rank : ranks) {
      const auto own = rank.own_gradients[dp].find(name);
      if (own == rank.own_gradients[dp].end()) return {};
      const at::Tensor part = own->second.to(at::kDouble).cpu();
      u = unitRoundoff(own->second.scalar_type());
      squares = sum.defined() ? squares + at::square(sum + part) : at::zeros_like(part);
      sum = sum.defined() ? sum + part : part;
    }
  if (!squares.defined()) return squares;
  return kRms * kRms * u * u * (isOfNumbers(squares) ? squares : squares.sum(-1));
}

/// An angle is position · base^(-2i/D): the power is off by ln(base)·2i/D units, as its exponent
/// is by one; quotient, product and scaling add a few. Cosine and sine move by as much as the
/// angle, and are then rounded to the type in which they are kept.
DiffRecord StepEnds::rotary(const LlamaConfig& config, at::ScalarType type) const {
  constexpr double kFew = 6;
  const at::Tensor positions = batch.position_ids.cpu(),
                   angles = Rotary::angles(positions, config, at::kDouble);
  const Rotary meant = Rotary::of(positions, config, at::kDouble);
  const at::Tensor half = at::arange(0, config.head_dim, 2, at::kDouble) /
                          static_cast<double>(config.head_dim),
                   units =
                       at::cat({half, half}) * std::log(std::max(Rotary::base(config), 2.0)) + kFew;
  const double u = unitRoundoff(type == at::kDouble ? at::kDouble : at::kFloat);
  const double factor = config.rope_scaling ? config.rope_scaling->attention_factor : 1;
  const at::Tensor limit = (u * angles.abs() * units + 2 * unitRoundoff(type)) * factor;
  DiffRecord diff = outsideLayers(train_step, Direction::kForward, "rotary");
  measureElements(
      diff,
      at::cat({joined(ranks, &RankStep::cos, 2, layout), joined(ranks, &RankStep::sin, 2, layout)},
              -1),
      at::cat({meant.cos, meant.sin}, -1), at::cat({limit, limit}, -1), &layout);
  return diff;
}

DiffRecord StepEnds::logits() const {
  DiffRecord diff = outsideLayers(train_step, Direction::kForward, "logits");
  measureError(diff,
               {joined(ranks, &RankStep::logits, 1, layout).unsqueeze(1),
                unsharded.exact.logits.unsqueeze(1), unsharded.device.logits.unsqueeze(1)},
               nullptr, &layout);
  return diff;
}

/// Held to the exact step, and to the run's own logits, which leave far less room.
DiffRecord StepEnds::loss(double logged) const {
  const at::Tensor errors = lossesOf(unsharded.device.logits, batch.labels) -
                            lossesOf(unsharded.exact.logits, batch.labels);
  const auto number = [](double x) { return at::tensor({x}, at::kDouble); };
  const double exact = unsharded.exact.loss;
  std::vector<HeldTo> held{{number(exact), number(limitOfMean(exact, errors))}};
  if (HeldTo own = lossOfLogits(joined(ranks, &RankStep::logits, 1, layout), batch.labels);
      isComparable(own.reference))
    held.push_back(std::move(own));
  DiffRecord diff = outsideLayers(train_step, Direction::kForward, "loss");
  measureRows(diff, number(logged), held);
  return diff;
}

/// Ranks that were synchronised have equal gradients, which are measured once.
std::vector<DiffRecord> StepEnds::gradients() const {
  std::vector<DiffRecord> diffs;
  for (const auto& [name, of_exact] : unsharded.exact.gradients) {
    const std::vector<HeldTo> held_to =
        gradientReferences(name, unsharded, variances, summingErrors(name, ranks));
    DiffRecord worst, last;
    at::Tensor measured;
    std::vector<double> by_rank;
    for (const RankStep& rank : ranks) {
      by_rank.push_back(0);
      for (const auto& of_dp_rank : rank.gradients) {
        const at::Tensor& gradient = of_dp_rank.at(name);
        if (!measured.defined() || !at::equal(gradient, measured)) {
          last = outsideLayers(train_step, Direction::kBackward, "grad." + name);
          measureRows(last, gradient, held_to);
          measured = gradient;
        }
        by_rank.back() = std::max(by_rank.back(), last.ratio);
        if (worst.tensor.empty() || traces::isWorse(last, worst)) worst = last;
      }
    }
    worst.ratio_by_rank = std::move(by_rank);
    diffs.push_back(std::move(worst));
  }
  return diffs;
}

/// The norm of a sum moves by no more than the norm of what is added.
DiffRecord StepEnds::gradientNorm(double logged) const {
  constexpr double kAsOneDevice = 4;
  const auto [norm, error] = normAndError(unsharded.exact, unsharded.device);
  DiffRecord diff = outsideLayers(train_step, Direction::kBackward, "grad_norm");
  measureNumber(diff, logged, norm, kAsOneDevice * (error + unitRoundoff(at::kFloat) * norm));
  return diff;
}

}  // namespace ringscope::engine

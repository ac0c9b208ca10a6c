// SPDX-License-Identifier: Apache-2.0
#include "traces/verify/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "traces/query/sequence_groups.h"
#include "traces/schema/other_tensors.h"
#include "traces/verify/row_limits.h"

namespace ringscope::traces {
namespace {

/// Something is missing; `why` says what.
struct Missing {
  std::string why;
};

/// The members of a rank's tp group; itself where there is none.
std::vector<WorldRank> tpRanks(const Trace& trace, WorldRank rank) {
  const GroupRecord* tp = trace.groupOf(rank, GroupAxis::kTp);
  return tp ? tp->members : std::vector{rank};
}

/// A recorded tensor and its values, or Missing is thrown.
struct Loaded {
  const TensorRecord* record;
  std::vector<double> values;
};

Loaded load(const Trace& trace, const TensorName& tensor, const Place& place, WorldRank rank) {
  const TensorRecord* record = trace.findTensor(tensor, place, rank);
  const std::string what = tensor.text() + " of rank " + toString(rank);
  if (!record) throw Missing{what + " is not recorded; --capture full records it"};
  auto values = trace.values(*record);
  if (!values) throw Missing{"the values of " + what + " were not kept; --capture full keeps them"};
  return {record, std::move(*values)};
}

/// [tokens, vocabulary / tp] of each tp rank to [tokens, vocabulary].
std::vector<double> joinedLogits(const std::vector<Loaded>& slices, std::size_t tokens) {
  if (slices.size() == 1) return slices.front().values;
  std::vector<double> joined;
  for (std::size_t token = 0; token < tokens; ++token)
    for (const Loaded& slice : slices) {
      const std::size_t width = slice.values.size() / tokens;
      const auto row = slice.values.begin() + static_cast<std::ptrdiff_t>(token * width);
      joined.insert(joined.end(), row, row + static_cast<std::ptrdiff_t>(width));
    }
  return joined;
}

/// The tokens of one rank, whose logits its tp group holds.
LossSum lossOf(const Trace& trace, std::int32_t train_step, WorldRank rank) {
  const Loaded labels = load(trace, {TensorKind::kBuffer, "labels"}, {train_step}, rank);
  std::vector<Loaded> slices;
  for (const WorldRank tp : tpRanks(trace, rank)) {
    slices.push_back(load(trace, {TensorKind::kLogits}, {train_step}, tp));
    if (labels.values.empty() || slices.back().values.size() % labels.values.size() != 0)
      throw Missing{"logits of rank " + toString(tp) + " do not fit the labels of rank " +
                    toString(rank)};
  }
  const double sums = slices.front().record->dtype == DType::kFloat64
                          ? 2 * unitRoundoff(DType::kFloat64)
                          : unitRoundoff(DType::kFloat32);
  const auto logits = joinedLogits(slices, labels.values.size());
  return crossEntropySum(logits, labels.values,
                         static_cast<std::int64_t>(logits.size() / labels.values.size()), sums);
}

/// The only element of a recorded tensor.
std::optional<double> recordedNumber(const Trace& trace, const char* tensor,
                                     std::int32_t train_step, WorldRank rank) {
  const TensorRecord* record = trace.findTensor({TensorKind::kOther, tensor}, {train_step}, rank);
  if (!record || record->shape != std::vector<std::int64_t>{1}) return std::nullopt;
  const bool finite = record->stats.nan == 0 && record->stats.inf == 0;
  return finite ? record->stats.mean : std::numeric_limits<double>::quiet_NaN();
}

/// A rank of each tp group among those that have tokens of their own, in ascending order.
std::vector<WorldRank> tokenOwners(const Trace& trace) {
  std::set<WorldRank> owners;
  for (const auto& group : sequenceGroups(trace))
    for (const WorldRank rank : group) owners.insert(tpRanks(trace, rank).front());
  return {owners.begin(), owners.end()};
}

/// A bias of q, k or v or a layer's sinks, of which each tp rank holds the part of its heads.
bool isOfOwnHeads(const std::string& name) {
  return name.ends_with(".q_proj.bias") || name.ends_with(".k_proj.bias") ||
         name.ends_with(".v_proj.bias") || name.ends_with(".self_attn.sinks");
}

/// Fills a check by `compute`, which throws Missing where it cannot.
template <typename Compute>
ScalarCheck checkLogged(const Trace& trace, std::int32_t train_step, const char* what,
                        Compute&& compute) {
  ScalarCheck check;
  check.what = what;
  check.logged = loggedNumber(trace, train_step, what);
  if (check.logged && std::isnan(*check.logged)) check.logged.reset();
  try {
    compute(check);
    if (!check.logged)
      check.skipped = std::string("the ") + what + " that the run logged is not recorded";
  } catch (const Missing& missing) {
    check.skipped = missing.why;
  }
  return check;
}

}  // namespace

std::optional<double> ScalarCheck::ratio() const {
  if (!logged || !exact) return std::nullopt;
  const double error = std::abs(*logged - *exact);
  if (error == 0) return 0;
  return limit > 0 && std::isfinite(error) ? error / limit
                                           : std::numeric_limits<double>::infinity();
}

std::optional<double> loggedNumber(const Trace& trace, std::int32_t train_step, const char* field) {
  const nlohmann::json& step = trace.note("step." + std::to_string(train_step));
  if (!step.is_object() || !step.contains(field)) return std::nullopt;
  if (step.at(field).is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!step.at(field).is_number()) return std::nullopt;
  return step.at(field).get<double>();
}

RankLosses rankLosses(const Trace& trace, std::int32_t train_step) {
  RankLosses losses;
  try {
    for (const WorldRank rank : tokenOwners(trace)) {
      const auto sum = recordedNumber(trace, kOwnLossSum, train_step, rank);
      const auto targets = recordedNumber(trace, kOwnTargets, train_step, rank);
      if (sum && targets && *targets >= 0 && *targets < 1e15)
        losses.ranks.push_back({rank,
                                {*sum, static_cast<std::int64_t>(*targets),
                                 4 * unitRoundoff(DType::kFloat32) * std::abs(*sum)}});
      else
        losses.ranks.push_back({rank, lossOf(trace, train_step, rank)});
    }
  } catch (const Missing& missing) {
    return {{}, missing.why};
  }
  const RunSpec* run = trace.run();
  if (!run || losses.ranks.size() != static_cast<std::size_t>(run->dp) * run->cp)
    return {{}, "not all ranks of the run are known"};
  return losses;
}

LossSum crossEntropySum(std::span<const double> logits, std::span<const double> labels,
                        std::int64_t vocabulary, double sums) {
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(0, vocabulary));
  if (width == 0 || logits.size() % width != 0 || logits.size() / width != labels.size())
    throw inputError("the logits do not fit the labels");
  LossSum loss;
  double sizes = 0;
  for (std::size_t token = 0; token < labels.size(); ++token) {
    if (labels[token] < 0) continue;
    if (!(labels[token] < static_cast<double>(width)))
      throw inputError("a label is outside the vocabulary of " + std::to_string(width));
    const auto row = logits.subspan(token * width, width);
    double largest = row[0], size = 0, sum = 0;
    for (const double logit : row) {
      largest = std::max(largest, logit);
      size = std::max(size, std::abs(logit));
    }
    for (const double logit : row) sum += std::exp(logit - largest);
    const double lse = largest + std::log(sum);
    const double of_token = lse - row[static_cast<std::size_t>(labels[token])];
    loss.sum += of_token;
    ++loss.targets;
    // lse, its logarithm's argument, two differences.
    loss.limit +=
        sums * (kRoundingLambda * std::sqrt(static_cast<double>(width)) + 4 * size + std::abs(lse));
    sizes += std::abs(of_token);
  }
  loss.limit += kRoundingLambda * std::sqrt(static_cast<double>(loss.targets)) * sums * sizes;
  return loss;
}

ScalarCheck checkLoss(const Trace& trace, std::int32_t train_step) {
  return checkLogged(trace, train_step, "loss", [&](ScalarCheck& check) {
    LossSum all;
    for (const WorldRank rank : tokenOwners(trace)) {
      const IntentRecord* intent = trace.intent(train_step, rank);
      if (!intent || intent->loss != LossReduction::kMeanOverTargets)
        throw Missing{"how the losses of several ranks were meant to become one is not recorded"};
      const LossSum own = lossOf(trace, train_step, rank);
      all.sum += own.sum;
      all.targets += own.targets;
      all.limit += own.limit;
    }
    if (all.targets == 0) throw Missing{"no token has a target"};
    const auto targets = static_cast<double>(all.targets);
    check.exact = all.sum / targets;
    // The reduction over ranks and the division, which may be in fp32 too.
    check.limit = all.limit / targets + 4 * unitRoundoff(DType::kFloat32) * std::abs(*check.exact);
  });
}

ScalarCheck checkGradientNorm(const Trace& trace, std::int32_t train_step) {
  return checkLogged(trace, train_step, "grad_norm", [&](ScalarCheck& check) {
    if (trace.worldSize() == 0) throw Missing{"no gradient is recorded"};
    const Place place{train_step, Layer::none(), Direction::kBackward};
    std::set<std::pair<std::string, std::uint64_t>> counted;
    double squares = 0, elements = 0;
    for (const WorldRank rank : tpRanks(trace, WorldRank::of(0)))
      for (const TensorRecord& tensor : trace.tensors()) {
        if (tensor.tensor.kind != TensorKind::kGradient || tensor.rank != rank ||
            !(tensor.place == place))
          continue;
        // Norms' weights and the output's bias are of one dimension and whole on every tp rank; of
        // the others, those are replicas that are equal.
        const bool whole = tensor.shape.size() == 1 && !isOfOwnHeads(tensor.tensor.name);
        if (!counted.emplace(tensor.tensor.name, whole ? 0 : tensor.hash).second) continue;
        for (const double value : load(trace, tensor.tensor, place, rank).values)
          squares += value * value;
        elements += 1;
      }
    if (elements == 0)
      throw Missing{"no gradient of this training step is recorded; --capture full records them"};
    check.exact = std::sqrt(squares);
    // Logged from sums in fp64 or, elsewhere, fp32.
    check.limit = 4 * kRoundingLambda * unitRoundoff(DType::kFloat32) * *check.exact;
  });
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
// Gradients of parameters: how their norm counts them, and whether the embeddings have one.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/recompute/step_tensors.h"
#include "traces/analysis/verify/step_hypotheses/norms.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/observed_model.h"

namespace ringscope::traces {

// norm_counts_replicas: the logged gradient norm counts a parameter that several ranks hold as
// often as it is held.
namespace {

/// The share of a logged number that lost digits can explain.
constexpr double kLostDigits = 1e-5;

struct NormReading {
  std::int32_t train_step = 0;
  double logged = 0, exact = 0;
  std::optional<CountedNorm> as;  ///< none: neither right nor one of these
  bool by_verdict = false;
  bool right = false;
};

bool isNear(double a, double b) {
  return std::abs(a - b) <= kLostDigits * std::abs(b);
}

void compareNorms(NormReading& reading, const RunSpec& run, const GradientNorms& norms) {
  for (const CountedNorm& wrong : normsOfReplicas(run, norms))
    if (isNear(reading.logged, wrong.norm) &&
        std::abs(wrong.norm - reading.exact) > 10 * kLostDigits * reading.exact) {
      reading.as = wrong;
      return;
    }
}

/// Reads one training step; nullopt when values of gradients or the logged norm are missing.
std::optional<NormReading> byValues(const Trace& trace, std::int32_t train_step) {
  const ScalarCheck check = checkGradientNorm(trace, train_step);
  const auto ratio = check.ratio();
  if (!ratio || !std::isfinite(*check.logged) || !std::isfinite(*check.exact) ||
      !(*check.exact > 0))
    return std::nullopt;
  NormReading reading{train_step, *check.logged, *check.exact, {}, false, *ratio <= 1};
  if (reading.right) return reading;
  compareNorms(reading, *trace.run(), gradientNorms(trace, train_step));
  return reading;
}

/// Reads the recorded verdict on the norm by which gradients were clipped.
NormReading byVerdict(const Trace& trace, const DiffRecord& diff) {
  NormReading reading{diff.place.train_step, diff.scale + diff.error, diff.scale, {}, true,
                      diff.ratio <= 1};
  if (!reading.right && diff.scale > 0 && std::isfinite(diff.error) && trace.run()->tp == 1)
    compareNorms(reading, *trace.run(), {diff.scale, diff.scale});
  return reading;
}

std::vector<NormReading> readNorms(const Trace& trace) {
  std::vector<NormReading> all;
  std::set<std::int32_t> steps;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor.kind == TensorKind::kGradient && tensor.has_values)
      steps.insert(tensor.place.train_step);
  for (const std::int32_t train_step : steps)
    if (const auto reading = byValues(trace, train_step)) all.push_back(*reading);
  if (!all.empty()) return all;
  for (const DiffRecord& diff : trace.diffs())
    if (diff.isolated && diff.tensor == "clip_norm") all.push_back(byVerdict(trace, diff));
  return all;
}

Finding normCountsReplicasFinding(const NormReading& reading) {
  return {.confidence = reading.by_verdict ? Confidence::kLikely : Confidence::kCertain,
          .title = "The gradient norm counts what several ranks hold more than once",
          .place = afterLayers(reading.train_step),
          .buffer = "grad_norm",
          .evidence = std::string("The norm by which gradients are clipped is ") +
                      describeSignificant(reading.logged, 6) +
                      "; the gradients after the sync have " +
                      describeSignificant(reading.exact, 6) + ", and " +
                      describeSignificant(reading.as->norm, 6) + " comes of counting " +
                      reading.as->what + ".",
          .remedy =
              "After the sync dp×cp ranks hold the same gradients: sum squares over tp alone, and "
              "count a parameter that tp ranks hold alike (norms) on one of them."};
}

}  // namespace

RuleResult checkNormCountsReplicas(const Trace& trace) {
  const RunSpec* run = trace.run();
  if (!run) return notObservable("needs the sizes of the mesh, all gradients and their norm");
  if (run->dp == 1 && run->tp == 1 && run->cp == 1) return clear();
  const auto readings = readNorms(trace);
  const auto wrong = std::ranges::find_if(readings, [](const auto& r) { return r.as.has_value(); });
  if (wrong != readings.end()) return found(normCountsReplicasFinding(*wrong));
  const auto other = std::ranges::find(readings, false, &NormReading::right);
  if (other != readings.end())
    return undecided("needs a logged norm that some way of counting gives; that of step " +
                     std::to_string(other->train_step) + " is " +
                     describeSignificant(other->logged, 6) + ", where the gradients have " +
                     describeSignificant(other->exact, 6));
  if (!readings.empty()) return clear();
  return notObservable("needs the values of all gradients after the sync, and the logged norm");
}

// embedding_detached: the gradient of the embeddings is exactly 0 and others are not. All ranks are
// needed, because a rank that has a part of the vocabulary may hold tokens that no sequence has.
namespace {

bool isEmbedding(const std::string& parameter) {
  constexpr std::array kNames = {"embed_tokens.weight", "tok_embeddings.weight",
                                 "word_embeddings.weight", "wte.weight"};
  return std::ranges::any_of(kNames, [&](const char* name) { return parameter.ends_with(name); });
}
bool isOutput(const std::string& parameter) {
  constexpr std::array kNames = {"lm_head.weight", "output_layer.weight", "embed_out.weight"};
  return parameter == "output.weight" ||
         std::ranges::any_of(kNames, [&](const char* name) { return parameter.ends_with(name); });
}

bool isZero(const TensorRecord& tensor) {
  return tensor.stats.abs_max == 0 && tensor.stats.nan == 0 && tensor.stats.inf == 0;
}

/// The gradients of one training step.
struct StepGradients {
  std::vector<const TensorRecord*> embedding;
  int others = 0, not_zero = 0;  ///< gradients of other parameters
  bool has_output = false;
};

enum class EmbeddingIs { kUnknown, kTrained, kTied, kDetached };

EmbeddingIs judge(const Trace& trace, const StepGradients& step) {
  if (step.embedding.empty() || step.not_zero == 0) return EmbeddingIs::kUnknown;
  if (!std::ranges::all_of(step.embedding, [](const auto* t) { return isZero(*t); }))
    return step.has_output ? EmbeddingIs::kTrained : EmbeddingIs::kTied;
  std::set<WorldRank> ranks;
  for (const TensorRecord* tensor : step.embedding) ranks.insert(tensor->rank);
  const RunSpec* run = trace.run();
  const bool all = run && std::ssize(ranks) == std::int64_t{run->dp} * run->tp * run->cp;
  return all ? EmbeddingIs::kDetached : EmbeddingIs::kUnknown;
}

Finding embeddingDetachedFinding(const StepGradients& step) {
  const TensorRecord& first = *step.embedding.front();
  return {.title = "The embeddings get no gradient",
          .place = first.place,
          .buffer = first.tensor.text(),
          .evidence = "The gradient of " + first.tensor.name + " is exactly 0 on " +
                      (step.embedding.size() == 1 ? "the rank that recorded it"
                                                  : "all " + std::to_string(step.embedding.size()) +
                                                        " ranks that recorded it") +
                      ", while " + std::to_string(step.not_zero) + " of " +
                      std::to_string(step.others) + " other gradients are not.",
          .remedy =
              "Cut and pad what the embedding returns into a new tensor: resize_() or .data "
              "detaches it from its graph. If the embeddings are to stay as they are, take them "
              "out of the optimizer."};
}

}  // namespace

RuleResult checkEmbeddingDetached(const Trace& trace) {
  std::map<std::int32_t, StepGradients> steps;
  const auto seen = findOutputProjection(trace);
  for (const TensorRecord& tensor : trace.tensors()) {
    if (tensor.tensor.kind != TensorKind::kGradient) continue;
    StepGradients& step = steps[tensor.place.train_step];
    const std::string& name = tensor.tensor.name;
    step.has_output =
        step.has_output || (seen ? name == seen->parameter && !seen->tied : isOutput(name));
    if (isEmbedding(tensor.tensor.name)) {
      step.embedding.push_back(&tensor);
    } else {
      ++step.others;
      step.not_zero += !isZero(tensor);
    }
  }
  bool trained = false, tied = false;
  for (const auto& [train_step, step] : steps) {
    const EmbeddingIs is = judge(trace, step);
    if (is == EmbeddingIs::kDetached) return found(embeddingDetachedFinding(step));
    trained = trained || is == EmbeddingIs::kTrained;
    tied = tied || is == EmbeddingIs::kTied;
  }
  if (trained) return clear();
  if (tied)
    return undecided(
        "needs embeddings with a weight of their own; here the output projection has the same, "
        "which gets a gradient there");
  return notObservable("needs the gradients of the embeddings of all ranks, and others");
}

}  // namespace ringscope::traces

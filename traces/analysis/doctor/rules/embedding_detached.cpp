// SPDX-License-Identifier: Apache-2.0
// Whether the gradient of the embeddings is exactly 0 where others are not. Where ranks cut the
// vocabulary one may hold tokens that no sequence has, so all of them are looked at.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "traces/analysis/doctor/rule.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
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
struct Step {
  std::vector<const TensorRecord*> embedding;
  int others = 0, not_zero = 0;  ///< gradients of other parameters
  bool has_output = false;
};

enum class EmbeddingIs { kUnknown, kTrained, kTied, kDetached };

EmbeddingIs judge(const Trace& trace, const Step& step) {
  if (step.embedding.empty() || step.not_zero == 0) return EmbeddingIs::kUnknown;
  if (!std::ranges::all_of(step.embedding, [](const auto* t) { return isZero(*t); }))
    return step.has_output ? EmbeddingIs::kTrained : EmbeddingIs::kTied;
  std::set<WorldRank> ranks;
  for (const TensorRecord* tensor : step.embedding) ranks.insert(tensor->rank);
  const RunSpec* run = trace.run();
  const bool all = run && std::ssize(ranks) == std::int64_t{run->dp} * run->tp * run->cp;
  return all ? EmbeddingIs::kDetached : EmbeddingIs::kUnknown;
}

Finding finding(const Step& step) {
  const TensorRecord& first = *step.embedding.front();
  Finding f;
  f.rule = "embedding_detached";
  f.severity = "error";
  f.confidence = "certain";
  f.title = "The embeddings get no gradient";
  f.place = first.place;
  f.buffer = first.tensor.text();
  f.evidence = "The gradient of " + first.tensor.name + " is exactly 0 on " +
               (step.embedding.size() == 1
                    ? "the rank that recorded it"
                    : "all " + std::to_string(step.embedding.size()) + " ranks that recorded it") +
               ", while " + std::to_string(step.not_zero) + " of " + std::to_string(step.others) +
               " other gradients are not.";
  f.remedy =
      "Cut and pad what the embedding returns into a new tensor: resize_() or .data detaches it "
      "from its graph. If the embeddings are to stay as they are, take them out of the optimizer.";
  return f;
}

}  // namespace

RuleResult checkEmbeddingDetached(const Trace& trace) {
  std::map<std::int32_t, Step> steps;
  for (const TensorRecord& tensor : trace.tensors()) {
    if (tensor.tensor.kind != TensorKind::kGradient) continue;
    Step& step = steps[tensor.place.train_step];
    step.has_output = step.has_output || isOutput(tensor.tensor.name);
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
    if (is == EmbeddingIs::kDetached) return found(finding(step));
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

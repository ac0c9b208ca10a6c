// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/trace_check.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

/// JSON has no number for infinity or NaN.
nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

nlohmann::json ranksJson(const std::vector<WorldRank>& ranks) {
  nlohmann::json json = nlohmann::json::array();
  for (const WorldRank rank : ranks) json.push_back(rank.value());
  return json;
}

nlohmann::json toJson(const TensorCheck& tensor) {
  const RowError& worst = tensor.worst;
  return {{"tensor", name(tensor.kind)},
          {"ratio", number(worst.ratio())},
          {"within_limit", worst.ratio() <= 1},
          {"rows", tensor.rows},
          {"rows_without_finite_inputs", tensor.not_finite},
          {"wrong_ranks", ranksJson(tensor.wrong_ranks)},
          {"worst",
           {{"batch", worst.batch},
            {"head", worst.head},
            {"token", worst.token.value()},
            {"rank", worst.rank.value()},
            {"error", number(worst.error)},
            {"limit", number(worst.limit)},
            {"size", number(worst.size)}}}};
}

nlohmann::json toJson(const HypothesesCheck& hypotheses) {
  nlohmann::json json = {{"meant_ratio", number(hypotheses.meant_ratio)},
                         {"skipped", hypotheses.skipped},
                         {"mistakes", nlohmann::json::array()}};
  if (!hypotheses.assumed.empty()) json["assumed"] = hypotheses.assumed;
  for (const HypothesisCheck& check : hypotheses.checks) {
    nlohmann::json tensors = nlohmann::json::object();
    for (const TensorCheck& tensor : check.tensors)
      tensors[name(tensor.kind)] = number(tensor.worst.ratio());
    json["mistakes"].push_back({{"mistake", check.mistake},
                                {"how", check.how},
                                {"reproduces", check.reproduces()},
                                {"ratio", number(check.ratio())},
                                {"tensors", tensors}});
  }
  return json;
}

nlohmann::json toJson(const LayerCheck& layer) {
  nlohmann::json json = {{"train_step", layer.pass.train_step},
                         {"layer", layer.pass.layer.value()},
                         {"microbatch", layer.pass.microbatch},
                         {"ranks", ranksJson(layer.members)},
                         {"skipped", layer.skipped},
                         {"tensors", nlohmann::json::array()}};
  for (const TensorCheck& tensor : layer.tensors) json["tensors"].push_back(toJson(tensor));
  if (!layer.widened.empty()) json["limits_widened"] = layer.widened;
  if (!layer.fits_words.empty()) json["attention"] = layer.fits_words;
  if (layer.keys_may_be_meant) json["keys_may_be_meant"] = true;
  if (layer.unlike_other_layers) json["unlike_other_layers"] = true;
  if (layer.worstRatio() > 1) json["hypotheses"] = toJson(layer.hypotheses);
  return json;
}

std::string ranksOf(const std::vector<WorldRank>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i ? ", " : "") + toString(ranks[i]);
  return text;
}

std::string timesLimit(double ratio) {
  return describeRatio(ratio) + " its limit";
}

/// `wrong`: the mark of a tensor that is beyond its limit.
std::string toText(const TensorCheck& tensor, const char* wrong) {
  const RowError& worst = tensor.worst;
  const bool right = worst.ratio() <= 1;
  std::string text = std::string("  ") + (right ? "✓ " : wrong) + name(tensor.kind) + ": " +
                     timesLimit(worst.ratio()) + " in the worst of " +
                     describeCount(tensor.rows, "row");
  if (!right)
    text += ", at token " + describeCount(worst.token.value()) + ", head " +
            std::to_string(worst.head) + ", batch entry " + std::to_string(worst.batch) +
            " of rank " + toString(worst.rank) + ": differs by " +
            describeSignificant(worst.error, 2) + " of " + describeSignificant(worst.size, 2) +
            ", rounding explains " + describeSignificant(worst.limit, 2) +
            "; rows beyond their limits on " + ranksOf(tensor.wrong_ranks);
  if (tensor.not_finite > 0)
    text += "; " + describeCount(tensor.not_finite, "row") +
            " not compared, since inputs are not finite";
  return text + "\n";
}

/// "out 0.2×, dq 0.31×"
std::string ratiosOf(const std::vector<TensorCheck>& tensors) {
  std::string text;
  for (const TensorCheck& tensor : tensors)
    text += (text.empty() ? "" : ", ") + std::string(name(tensor.kind)) + " " +
            describeRatio(tensor.worst.ratio());
  return text;
}

/// Returns lines about the mistakes that explain a wrong layer and those that do not.
std::string toText(const HypothesesCheck& hypotheses) {
  if (!hypotheses.skipped.empty()) return "  – no mistake was tried: " + hypotheses.skipped + "\n";
  std::string text, excluded;
  for (const HypothesisCheck& check : hypotheses.checks) {
    if (check.reproduces())
      text += "  = it is what `" + check.mistake + "` gives" +
              (check.how.empty() ? "" : ", if " + check.how) + ": " + ratiosOf(check.tensors) +
              " their limits; what was meant is off by " + timesLimit(hypotheses.meant_ratio) +
              "\n";
    else
      excluded += (excluded.empty() ? "" : ", ") + ("`" + check.mistake + "` ") +
                  describeRatio(check.ratio());
  }
  if (text.empty() && !hypotheses.checks.empty()) text = "  = no mistake that was tried gives it\n";
  if (!hypotheses.assumed.empty()) text += "  – " + hypotheses.assumed + "\n";
  return text + (excluded.empty() ? "" : "  ≠ excluded: " + excluded + "\n");
}

std::string toText(const LayerCheck& layer) {
  std::string text =
      "step " + std::to_string(layer.pass.train_step) + " › layer " + toString(layer.pass.layer) +
      (layer.pass.microbatch > 0 ? " › microbatch " + std::to_string(layer.pass.microbatch) : "") +
      " › " + ranksOf(layer.members) + "\n";
  for (const TensorCheck& tensor : layer.tensors)
    text += toText(tensor, layer.keys_may_be_meant ? "– " : "✗ ");
  if (layer.keys_may_be_meant)
    text +=
        "  – which keys were meant is inferred from the labels; "
        "ringscope.record(…, declare={\"mask\": …}) states it\n";
  const bool said = layer.fits == AttentionFits::kNothing && !layer.skipped.empty();
  if (!layer.fits_words.empty() && !said)
    text += (layer.unlike_other_layers ? "  ✗ unlike other layers, " : "  – ") + layer.fits_words +
            "\n";
  if (!layer.widened.empty()) text += "  – " + layer.widened + "\n";
  if (layer.worstRatio() > 1) text += toText(layer.hypotheses);
  for (const std::string& reason : layer.skipped) text += "  – " + reason + "\n";
  return text;
}

/// Returns the error of the output that rounding explains, as a share of the worst row. Scores that
/// are fitted to the output are off by about as much.
double roundingOfOut(const LayerCheck& layer) {
  const auto out = std::ranges::find(layer.tensors, TensorKind::kOut, &TensorCheck::kind);
  return out != layer.tensors.end() && out->worst.size > 0 ? out->worst.limit / out->worst.size : 0;
}

bool attendAlike(const LayerCheck& a, const LayerCheck& b) {
  // Small scores hardly show a softcap.
  constexpr double kRoomOfSoftcap = 0.05;
  const double room = 1e-3 + std::max(roundingOfOut(a), roundingOfOut(b));
  const auto near = [](double x, double y, double by) { return std::abs(x - y) <= by * (x + y); };
  const bool capped = a.scores.softcap > 0 && b.scores.softcap > 0;
  return near(a.scores.scale, b.scores.scale, room) &&
         (!capped || near(a.scores.softcap, b.scores.softcap, kRoomOfSoftcap)) &&
         a.fitted_sinks == b.fitted_sinks;
}

/// Marks layers with an inferred attention that most layers do not have. Layers that all differ are
/// meant to: some models scale attention by the layer's number.
void compareLayers(std::vector<LayerCheck>& layers) {
  const auto alike = [&](const LayerCheck& layer) {
    return std::ranges::count_if(layers, [&](const LayerCheck& other) {
      return !other.tensors.empty() && attendAlike(layer, other);
    });
  };
  const auto all =
      std::ranges::count_if(layers, [](const LayerCheck& layer) { return !layer.tensors.empty(); });
  if (all > 2 && std::ranges::all_of(layers, [&](const auto& layer) { return alike(layer) == 1; }))
    return;
  for (LayerCheck& layer : layers)
    layer.unlike_other_layers =
        layer.fits == AttentionFits::kOther && !layer.vague_scores && 2 * alike(layer) <= all;
}

/// Takes back wrong layers whose attention only some of their own rows show to be meant, if most
/// layers agree with nothing that is known. These rows may agree by chance.
void takeBackLonelyLayers(std::vector<LayerCheck>& layers) {
  const auto unknown = std::ranges::count(layers, AttentionFits::kNothing, &LayerCheck::fits);
  if (2 * unknown <= std::ssize(layers)) return;
  for (LayerCheck& layer : layers) {
    if (layer.fits != AttentionFits::kStated || layer.stated_by != StatedBy::kNobody ||
        layer.worstRatio() <= 1 || layer.hypotheses.reproduced())
      continue;
    layer.fits = AttentionFits::kNothing;
    layer.tensors.clear();
    layer.skipped.emplace_back(
        "most layers agree with no attention that RingScope tries, so what was meant is not known");
  }
}

/// Checks one layer. A layer that cannot be read does not silence the others.
LayerCheck checkedLayer(const Trace& trace, const LayerPass& pass,
                        const std::vector<WorldRank>& members, double work) {
  try {
    return checkLayer(trace, pass, members, work);
  } catch (const Error& error) {
    LayerCheck damaged;
    damaged.pass = pass;
    damaged.members = members;
    damaged.skipped = {error.what()};
    return damaged;
  }
}

}  // namespace

std::int64_t TraceCheck::compared() const {
  std::int64_t count = 0;
  for (const LayerCheck& layer : layers)
    for (const TensorCheck& tensor : layer.tensors) count += tensor.rows;
  for (const StepCheck& step : steps) count += step.compared();
  return count;
}

bool TraceCheck::right() const {
  return std::ranges::none_of(layers, &LayerCheck::isWrong) &&
         std::ranges::all_of(steps, &StepCheck::right);
}

TraceCheck checkLayers(const Trace& trace, double work) {
  TraceCheck check;
  const auto [passes, without_values] = recordedLayers(trace);
  check.without_values = without_values;
  std::vector<std::pair<LayerPass, std::vector<WorldRank>>> layers;
  for (const LayerPass& pass : passes)
    for (auto& members : sequenceGroups(trace, {pass.train_step, pass.microbatch}))
      layers.emplace_back(pass, std::move(members));
  const double share = work / static_cast<double>(std::max<std::size_t>(1, layers.size()));
  for (const auto& [pass, members] : layers)
    check.layers.push_back(checkedLayer(trace, pass, members, share));
  takeBackLonelyLayers(check.layers);
  compareLayers(check.layers);
  return check;
}

TraceCheck checkTrace(const Trace& trace, double work) {
  TraceCheck check = checkLayers(trace, work);
  std::set<std::int32_t> steps;
  for (const LayerCheck& layer : check.layers) steps.insert(layer.pass.train_step);
  if (trace.run() && trace.run()->command == Command::kAttend) return check;
  for (const std::int32_t step : steps) check.steps.push_back(checkStep(trace, step));
  return check;
}

nlohmann::json toJson(const TraceCheck& check) {
  nlohmann::json json = {{"compared", check.compared()},
                         {"right", check.right()},
                         {"layers_without_values", check.without_values},
                         {"layers", nlohmann::json::array()},
                         {"steps", nlohmann::json::array()}};
  for (const LayerCheck& layer : check.layers) json["layers"].push_back(toJson(layer));
  for (const StepCheck& step : check.steps) json["steps"].push_back(toJson(step));
  return json;
}

std::string toText(const TraceCheck& check) {
  std::string text =
      "Recorded results against unsharded attention in fp64, from the recorded q, k, v and dout:\n";
  for (const LayerCheck& layer : check.layers) text += toText(layer);
  for (const StepCheck& step : check.steps) text += toText(step);
  if (check.without_values > 0)
    text += "– " + describeCount(check.without_values, "layer") +
            " of other training steps: recorded without values\n";
  if (check.compared() == 0) return text + "– Nothing could be recomputed\n";
  if (!check.right()) return text + "✗ Some of it is not what was meant\n";
  const auto is_unjudged = [](const LayerCheck& layer) {
    return layer.fits == AttentionFits::kNothing || layer.tensors.empty() ||
           layer.keys_may_be_meant;
  };
  const std::int64_t unjudged = std::ranges::count_if(check.layers, is_unjudged);
  if (unjudged == 0) return text + "✓ All that could be recomputed is within rounding\n";
  return text + "– All that could be judged is within rounding; the attention of " +
         describeCount(unjudged, "layer") + " could not be judged\n";
}

}  // namespace ringscope::traces

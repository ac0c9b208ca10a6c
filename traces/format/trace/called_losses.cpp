// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/called_losses.h"

#include <cmath>
#include <limits>
#include <utility>

namespace ringscope::traces {
namespace {

/// Returns a field of an untrusted object; `none` when it is missing or of another type.
template <typename Value>
Value fieldOf(const nlohmann::json& object, const char* name, Value none) {
  const auto at = object.find(name);
  if (at == object.end()) return none;
  const Value* value = at->get_ptr<const Value*>();
  return value ? *value : none;
}

double numberOf(const nlohmann::json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number() ? at->get<double>()
                                               : std::numeric_limits<double>::quiet_NaN();
}

/// Returns a whole number of an untrusted object; `none` when it is missing or too large.
std::int64_t wholeOf(const nlohmann::json& object, const char* name, std::int64_t none) {
  const double value = numberOf(object, name);
  return std::abs(value) < 1e15 ? static_cast<std::int64_t>(value) : none;
}

CalledLoss readLoss(const nlohmann::json& object) {
  CalledLoss loss;
  if (!object.is_object()) return loss;
  loss.microbatch = static_cast<std::int32_t>(wholeOf(object, "microbatch", 0));
  loss.targets = wholeOf(object, "targets", 0);
  loss.tokens = wholeOf(object, "tokens", 0);
  loss.weighted = fieldOf(object, "weighted", false);
  loss.picked = fieldOf(object, "picked", false);
  if (const double smoothing = numberOf(object, "smoothing"); smoothing >= 0 && smoothing <= 1)
    loss.smoothing = smoothing;
  const auto weights = object.find("weights");
  if (weights != object.end() && weights->is_object())
    loss.weights = {numberOf(*weights, "least"), numberOf(*weights, "most"),
                    numberOf(*weights, "mean"), numberOf(*weights, "off")};
  for (const auto& [name, product] :
       {std::pair("product", &loss.product), std::pair("head_product", &loss.head_product),
        std::pair("local_gradient", &loss.local_gradient),
        std::pair("given_gradient", &loss.given_gradient)})
    if (const double value = numberOf(object, name); std::isfinite(value)) *product = value;
  const auto entries = object.find("entries");
  if (entries != object.end() && entries->is_array())
    for (const nlohmann::json& entry : *entries)
      if (entry.is_object())
        loss.entries.push_back(
            {wholeOf(entry, "targets", 0), numberOf(entry, "least"), numberOf(entry, "most")});
  loss.head_parts = wholeOf(object, "head_parts", 1);
  loss.parameter = fieldOf(object, "parameter", std::string());
  loss.dtype = fieldOf(object, "dtype", std::string());
  loss.tied = fieldOf(object, "tied", false);
  const auto between = object.find("between");
  if (between != object.end() && between->is_array())
    for (const nlohmann::json& name : *between)
      loss.between.push_back(name.is_string() ? name.get<std::string>() : "?");
  return loss;
}

}  // namespace

std::string calledLossesKey(std::int32_t train_step) {
  return "losses." + std::to_string(train_step);
}

std::vector<CalledLoss> calledLosses(const Trace& trace, std::int32_t train_step, WorldRank rank) {
  const nlohmann::json& note = trace.note(calledLossesKey(train_step));
  std::vector<CalledLoss> losses;
  if (!note.is_object() || !note.contains(toString(rank))) return losses;
  const nlohmann::json& own = note.at(toString(rank));
  losses.reserve(own.size());
  for (const nlohmann::json& loss : own) losses.push_back(readLoss(loss));
  return losses;
}

nlohmann::json toJson(const CalledLoss& loss) {
  nlohmann::json json = {
      {"microbatch", loss.microbatch}, {"targets", loss.targets},     {"tokens", loss.tokens},
      {"weighted", loss.weighted},     {"parameter", loss.parameter}, {"dtype", loss.dtype},
      {"between", loss.between},       {"tied", loss.tied},           {"picked", loss.picked}};
  if (loss.product) json["product"] = *loss.product;
  if (loss.head_product) {
    json["head_product"] = *loss.head_product;
    json["head_parts"] = loss.head_parts;
  }
  if (loss.local_gradient) json["local_gradient"] = *loss.local_gradient;
  if (loss.given_gradient) json["given_gradient"] = *loss.given_gradient;
  for (const CalledLoss::Entry& entry : loss.entries)
    json["entries"].push_back(
        {{"targets", entry.targets}, {"least", entry.least}, {"most", entry.most}});
  if (loss.smoothing) json["smoothing"] = *loss.smoothing;
  if (loss.weights)
    json["weights"] = {{"least", loss.weights->least},
                       {"most", loss.weights->most},
                       {"mean", loss.weights->mean},
                       {"off", loss.weights->off}};
  return json;
}

}  // namespace ringscope::traces

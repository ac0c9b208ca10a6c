// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope-engine/commands/verdict_tally.h"

#include <ATen/ATen.h>

#include "app/ringscope-engine/commands/bench.h"

namespace ringscope::app {
namespace {

constexpr double kClear = 4;  ///< multiple of one device's largest error

std::int64_t countOf(const at::Tensor& rows) {
  return rows.sum().item<std::int64_t>();
}

}  // namespace

void VerdictTally::countRun(double worst_ratio) {
  ++runs_;
  largest_ratio_ = std::max(largest_ratio_, worst_ratio);
  if (!(worst_ratio <= 1)) ++accused_;
}

void VerdictTally::countAltered(const JudgedTensor& judged,
                                const std::vector<Alteration>& alterations) {
  at::Tensor tightest = judged.held_to.front().limits;
  for (const engine::HeldTo& held : judged.held_to) tightest = at::minimum(tightest, held.limits);
  const at::Tensor measured = (tightest / judged.of_device).masked_select(judged.of_device > 0);
  if (measured.numel() > 0) tightness_[judged.name].push_back(measured.median().item<double>());
  const at::Tensor right = judged.actual.to(at::kDouble);
  for (const auto& [name, wrong] : alterations) {
    const at::Tensor counted = engine::rowErrors(wrong, right) > kClear * judged.of_device;
    at::Tensor hidden = at::ones_like(counted);
    for (const engine::HeldTo& held : judged.held_to)
      hidden.logical_and_(engine::rowErrors(wrong, held.reference) <= held.limits);
    const Altered part{countOf(counted), countOf(at::logical_and(counted, hidden))};
    for (Altered* sum : {&all_, &by_length_[judged.length], &by_tensor_[judged.name]}) {
      sum->rows += part.rows;
      sum->unseen += part.unseen;
    }
    if (part.unseen > 0) unseen_by_[judged.name + " " + name] += part.unseen;
  }
}

nlohmann::json VerdictTally::toJson() const {
  const auto of = [](const Altered& part) {
    return nlohmann::json{{"altered_rows", part.rows}, {"unseen_rows", part.unseen}};
  };
  nlohmann::json by_length = nlohmann::json::object(), by_tensor = nlohmann::json::object();
  for (const auto& [length, part] : by_length_) by_length[std::to_string(length)] = of(part);
  std::vector<double> tightness;
  for (const auto& [tensor, part] : by_tensor_) {
    by_tensor[tensor] = of(part);
    const auto medians = tightness_.find(tensor);
    if (medians == tightness_.end()) continue;
    by_tensor[tensor]["limit_over_largest_device_error"] = median(medians->second);
    tightness.insert(tightness.end(), medians->second.begin(), medians->second.end());
  }
  return {{"configurations", runs_},
          {"false_alarms", accused_},
          {"largest_ratio", largest_ratio_},
          {"altered_rows", all_.rows},
          {"unseen_rows", all_.unseen},
          {"unseen_by", unseen_by_},
          {"by_length", by_length},
          {"by_tensor", by_tensor},
          {"limit_over_largest_device_error", tightness.empty() ? 0 : median(tightness)}};
}

}  // namespace ringscope::app

// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/scalar_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "traces/format/trace/capture_advice.h"

namespace ringscope::traces {

Rounded Rounded::times(double factor) const {
  return {value * factor, limit * std::abs(factor)};
}

double Rounded::ratioFor(double logged) const {
  if (std::isnan(logged) && std::isnan(value)) return 0;
  const double error = std::abs(logged - value);
  if (error == 0) return 0;
  return limit > 0 && std::isfinite(error) ? error / limit
                                           : std::numeric_limits<double>::infinity();
}

bool anyReproduces(const std::vector<NumberHypothesis>& hypotheses) {
  return std::ranges::any_of(hypotheses, &NumberHypothesis::reproduces);
}

std::optional<double> ScalarCheck::ratio() const {
  if (!logged || !exact || !skipped.empty()) return std::nullopt;
  return Rounded{*exact, limit}.ratioFor(*logged);
}

std::optional<double> GradientCheck::ratio() const {
  return skipped.empty() ? std::optional(off / limit) : std::nullopt;
}

std::optional<double> loggedNumber(const Trace& trace, std::int32_t train_step, const char* field) {
  const nlohmann::json& step = trace.note("step." + std::to_string(train_step));
  if (!step.is_object() || !step.contains(field)) return std::nullopt;
  if (step.at(field).is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!step.at(field).is_number()) return std::nullopt;
  return step.at(field).get<double>();
}

RecordedValues recordedValues(const Trace& trace, const TensorName& tensor, const Place& place,
                              WorldRank rank) {
  const TensorRecord* record = trace.findTensor(tensor, place, rank);
  const std::string what = tensor.text() + " of rank " + toString(rank);
  if (!record)
    throw MissingValue{what + " is not recorded; " + captureAdvice(trace, "full", "records it")};
  auto values = trace.values(*record);
  if (!values)
    throw MissingValue{"the values of " + what + " were not kept; " +
                       captureAdvice(trace, "full", "keeps them")};
  return {record, std::move(*values)};
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/facts/said.h"
#include "tests/facts/scene_facts.h"
#include "viz/views/curves/curves_scene.h"

namespace ringscope::facts {
namespace {

using Number = std::optional<double>;
/// By step; of a step that has nothing there is none.
using BySteps = std::map<int, Number>;

/// The expected curves of a run, by name.
struct MeantCurves {
  std::map<std::string, BySteps> values, references;
  std::set<int> steps;
};

void put(MeantCurves& meant, const std::string& curve, int step, double value) {
  meant.values[curve][step] = value;
  meant.steps.insert(step);
}

void takeLogged(MeantCurves& meant, const Case& c, int step, double loss, double norm,
                double seconds, double peak) {
  put(meant, "loss", step, loss);
  put(meant, "gradient norm", step, norm);
  const double tokens = static_cast<double>(c.tokens.size()) / c.steps;
  if (seconds > 0) put(meant, "tokens a second", step, tokens / seconds);
  put(meant, "peak memory", step, peak);
}

double loggedNumber(const nlohmann::json& value) {
  return value.is_null() ? std::nan("") : value.get<double>();
}

/// Takes the expected values from the notes in the recording, because a run with processes returns
/// no result to the test.
void takeNotes(MeantCurves& meant, const Case& c) {
  for (int step = 0; step < c.steps; ++step) {
    const auto& note = c.trace->note("step." + std::to_string(step));
    if (!note.is_object()) continue;
    double peak = 0;
    for (const auto& bytes : note.at("peak_bytes")) peak = std::max(peak, bytes.get<double>());
    takeLogged(meant, c, step, loggedNumber(note.at("loss")), loggedNumber(note.at("grad_norm")),
               loggedNumber(note.at("seconds")), peak);
  }
}

MeantCurves meantCurves(const Case& c) {
  MeantCurves meant;
  for (const auto& log : c.logged)
    takeLogged(meant, c, log.step, log.loss, log.grad_norm, log.seconds,
               static_cast<double>(*std::ranges::max_element(log.peak_bytes)));
  if (c.train && c.logged.empty()) takeNotes(meant, c);
  BySteps worst;
  for (const auto& diff : c.trace->diffs()) {
    const int step = diff.place.train_step;
    const bool none = std::isnan(diff.ratio) || (worst[step] && std::isnan(*worst[step]));
    worst[step] = none ? std::nan("") : std::max(worst[step].value_or(diff.ratio), diff.ratio);
    put(meant, "worst error ÷ limit", step, *worst[step]);
    if (diff.isolated) continue;
    if (diff.tensor == "loss") meant.references["loss"][step] = diff.scale;
    if (diff.tensor == "grad_norm") meant.references["gradient norm"][step] = diff.scale;
  }
  return meant;
}

bool isSameNumber(const Number& a, const Number& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return (std::isnan(*a) && std::isnan(*b)) || *a == *b || std::abs(*a - *b) <= 1e-9 * std::abs(*b);
}

Number valueAt(const BySteps& numbers, int step) {
  const auto found = numbers.find(step);
  return found == numbers.end() ? std::nullopt : found->second;
}

bool saysValue(const std::string& curve, const std::string& said, double value) {
  if (std::isnan(value)) return said.find("nan") == 0 || said.find("NaN") == 0;
  if (std::isinf(value)) return said.find("inf") != std::string::npos || said == "∞×";
  if (curve == "peak memory") return saysBytes(said, value);
  if (curve == "tokens a second")
    return value < 100 ? saysSignificant(said, value, 3) : saysCount(said, std::llround(value));
  if (curve == "worst error ÷ limit") return said.ends_with("×") || said == "0";
  return saysSignificant(said, value, 5);
}

/// "step 1: loss 5.72, unsharded 5.72 · gradient norm 0.66": every curve that has a number there,
/// with its own.
void expectStepWords(const MeantCurves& meant, const viz::CurvesScene& scene, int step) {
  const std::string words = viz::describeStep(scene, step);
  SCOPED_TRACE(words);
  const std::string begin = "step " + std::to_string(step) + ": ";
  ASSERT_TRUE(words.starts_with(begin));
  std::string rest = words.substr(begin.size());
  int parts = 0;
  for (const auto& curve : scene.curves) {
    const Number value = valueAt(meant.values.at(curve.name), step);
    if (!value) continue;
    const std::string between = parts++ ? " · " : "";
    ASSERT_TRUE(rest.starts_with(between + curve.name + " "));
    rest = rest.substr(between.size() + curve.name.size() + 1);
    std::string said = rest.substr(0, rest.find(" · "));
    rest = rest.substr(said.size());
    const auto known = meant.references.find(curve.name);
    const Number reference =
        known == meant.references.end() ? Number() : valueAt(known->second, step);
    const auto comma = said.find(", unsharded ");
    ASSERT_EQ(comma != std::string::npos, reference.has_value());
    if (reference) {
      EXPECT_TRUE(saysValue(curve.name, said.substr(comma + 12), *reference)) << said;
      said = said.substr(0, comma);
    }
    EXPECT_TRUE(saysValue(curve.name, said, *value)) << *value;
  }
  EXPECT_EQ(rest, "");
}

}  // namespace

void expectCurves(const Case& c) {
  const MeantCurves meant = meantCurves(c);
  const viz::CurvesScene scene = viz::makeCurvesScene(*c.trace);
  EXPECT_EQ(std::set<int>(scene.steps.begin(), scene.steps.end()), meant.steps);
  EXPECT_EQ(scene.note.empty(), !meant.values.empty()) << scene.note;
  EXPECT_EQ(scene.missing.empty(), c.verify || !c.train) << scene.missing;
  EXPECT_EQ(scene.curves.size(), meant.values.size());
  for (const auto& curve : scene.curves) {
    SCOPED_TRACE(curve.name);
    ASSERT_TRUE(meant.values.contains(curve.name));
    ASSERT_EQ(curve.values.size(), scene.steps.size());
    const bool compared = meant.references.contains(curve.name);
    ASSERT_EQ(curve.reference.size(), compared ? scene.steps.size() : 0);
    for (std::size_t i = 0; i < scene.steps.size(); ++i) {
      EXPECT_TRUE(
          isSameNumber(curve.values[i], valueAt(meant.values.at(curve.name), scene.steps[i])));
      if (compared) {
        EXPECT_TRUE(isSameNumber(curve.reference[i],
                                 valueAt(meant.references.at(curve.name), scene.steps[i])));
      }
    }
  }
  for (const int step : meant.steps) expectStepWords(meant, scene, step);
  EXPECT_EQ(viz::describeStep(scene, c.steps + 7),
            "step " + std::to_string(c.steps + 7) + ": nothing is logged");
}

}  // namespace ringscope::facts

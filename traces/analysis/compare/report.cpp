// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/compare/report.h"

#include <cmath>
#include <map>
#include <tuple>

#include "traces/format/core/prose.h"
#include "traces/format/schema/fields.h"

namespace ringscope::traces {
namespace {

/// Returns a number as JSON; null for infinity and NaN, which JSON lacks.
nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

const char* nameFor(ComparedBy by) {
  switch (by) {
    case ComparedBy::kValues:
      return "values";
    case ComparedBy::kHashes:
      return "hashes";
    case ComparedBy::kStatistics:
      return "statistics";
  }
  return "";
}

void addPart(std::string& text, const char* what, const std::optional<std::int64_t>& number) {
  if (!number) return;
  if (!text.empty()) text += ", ";
  text += what;
  text += std::to_string(*number);
}

/// Returns, for each tensor and layer, the training step in which it differs most, in the order of
/// first occurrence.
std::vector<const TensorDifference*> worstOfEach(const RunComparison& comparison) {
  std::vector<const TensorDifference*> rows;
  std::map<std::tuple<std::int32_t, Direction, std::string>, std::size_t> row_of;
  for (const TensorDifference& d : comparison.all) {
    const auto [known, first] =
        row_of.try_emplace({d.place.layer.value(), d.place.direction, d.tensor}, rows.size());
    if (first)
      rows.push_back(&d);
    else if (!(d.worst <= rows[known->second]->worst))
      rows[known->second] = &d;
  }
  return rows;
}

/// Describes the costs of the last training step that both have. The first step includes warming
/// up.
std::string describeCosts(const RunComparison& comparison) {
  const CostPair* last = nullptr;
  for (const CostPair& pair : comparison.costs)
    if (!pair.place.layer.exists()) last = &pair;
  if (!last) return "";
  std::string lines;
  for (std::size_t i = 0; i < kValueCount<Cost>; ++i)
    if (const std::string line = describe(*last, static_cast<Cost>(i)); !line.empty())
      lines += "  " + line + "\n";
  return lines.empty() ? ""
                       : "What training step " + std::to_string(last->place.train_step) +
                             " gave and took, of all ranks:\n" + lines;
}

nlohmann::json jsonOf(const Costs& costs) {
  nlohmann::json json;
  for (std::size_t i = 0; i < kValueCount<Cost>; ++i) {
    const auto cost = static_cast<Cost>(i);
    json[name(cost)] = costs[cost] ? number(*costs[cost]) : nlohmann::json();
  }
  return json;
}

const char* glyphOf(Agreement agreement) {
  switch (agreement) {
    case Agreement::kSame:
      return "= ";
    case Agreement::kRounding:
      return "≈ ";
    case Agreement::kUnknown:
      return "? ";
    default:
      return "≠ ";
  }
}

}  // namespace

bool areNames(const TensorDifference& d) {
  return d.tensor.starts_with("buffer.") || d.tensor == "position_ids";
}

std::string describeSize(const TensorDifference& d) {
  if (d.rows == 0 && d.unmatched > 0) return "has no row that is in both runs";
  if (d.differing == 0)
    return d.by == ComparedBy::kStatistics ? "has the same statistics" : "is bit for bit the same";
  const std::string many = describeCount(d.differing) + " of " + describeCount(d.rows);
  if (areNames(d)) return "differs at " + many + " tokens";
  std::string size = "differs by " + describeSignificant(d.worst, 2) + " of its size";
  if (d.floor) {
    size += " (equal runs by ";
    size += describeSignificant(*d.floor, 2);
    size += ")";
  }
  if (d.by == ComparedBy::kStatistics) return size + ", by statistics";
  return d.rows > 1 ? size + " in " + many + " rows" : size;
}

std::string describeRatio(const CostPair& pair, Cost cost) {
  const auto &a = pair.run[cost], &b = pair.other[cost];
  const bool of_size = cost != Cost::kLoss && cost != Cost::kGradNorm;
  if (!of_size || !a || !b || *b <= 0 || *a == *b) return "";
  return describeSignificant(*a / *b, 3) + "×";
}

std::string describe(const CostPair& pair, Cost cost) {
  const auto &a = pair.run[cost], &b = pair.other[cost];
  if (!a || !b) return "";
  std::string line = title(cost);
  line += ": " + describe(cost, *a) + " against " + describe(cost, *b);
  if (const std::string ratio = describeRatio(pair, cost); !ratio.empty())
    line += " (" + ratio + ")";
  return line;
}

std::vector<std::string> describeSettings(const RunComparison& comparison) {
  if (!comparison.settings.empty()) return comparison.settings;
  return {"none of those that are recorded"};
}

std::string describe(const TensorDifference& d) {
  Place place = d.place;
  if (!place.layer.exists()) place.direction = Direction::kForward;
  const std::string words = describe(place);
  const std::string of_layer =
      place.layer.exists() ? words : "step " + std::to_string(place.train_step);
  return of_layer + ", " + d.tensor;
}

std::string describeWhere(const TensorDifference& d) {
  std::string text;
  addPart(text, "sequence ", d.at.sequence);
  addPart(text, "head ", d.at.head);
  addPart(text, "token ", d.at.token);
  if (!d.rank.exists() || !d.other.exists()) return text;
  if (!text.empty()) text += ", ";
  return text + "rank " + toString(d.rank) + " against rank " + toString(d.other);
}

std::string describeExtent(const TensorDifference& d) {
  if (d.differing == 0) return "";
  const std::string many = describeCount(d.differing) + " of " + describeCount(d.rows);
  std::string extent = areNames(d)                       ? many + " tokens"
                       : d.rows > 1                      ? many + " rows"
                       : d.by == ComparedBy::kStatistics ? "by statistics"
                                                         : "";
  if (const std::string where = describeWhere(d); !where.empty()) {
    if (!extent.empty()) extent += ", ";
    extent += areNames(d) ? "first at " : "most at ";
    extent += where;
  }
  return extent;
}

std::string describeFully(const TensorDifference& d) {
  std::string line = glyphOf(d.agreement());
  line += describe(d);
  line += " ";
  line += describeSize(d);
  const std::string where = describeWhere(d);
  if (d.differing > 0 && !where.empty()) {
    line += areNames(d) ? ", first at " : ", most at ";
    line += where;
  }
  if (d.unmatched > 0) {
    line += "; ";
    line += describeCount(d.unmatched);
    line += " rows are of one run alone";
  }
  return line;
}

std::string toText(const RunComparison& comparison) {
  std::string text = "Settings that differ:\n";
  for (const std::string& setting : describeSettings(comparison)) text += "  " + setting + "\n";
  text += describeCosts(comparison);
  text +=
      "The same place of the model in both runs; of each tensor the training step in which it "
      "differs most:\n";
  for (const TensorDifference* d : worstOfEach(comparison)) text += "  " + describeFully(*d) + "\n";
  for (const std::string& sentence : comparison.left_out)
    text += "  – not compared: " + sentence + "\n";
  for (const std::string& sentence : comparison.remarks) text += "  ◆ " + sentence + "\n";
  const char* indent = "";
  for (const std::string& sentence : concludeFrom(comparison)) {
    text += indent + sentence + "\n";
    indent = "  ";
  }
  return text;
}

nlohmann::json toJson(const RunComparison& comparison) {
  const auto json = [](const TensorDifference& d) -> nlohmann::json {
    return {{"train_step", d.place.train_step},
            {"layer", toJson(d.place.layer)},
            {"direction", name(d.place.direction)},
            {"tensor", d.tensor},
            {"by", nameFor(d.by)},
            {"rows", d.rows},
            {"differing", d.differing},
            {"unmatched", d.unmatched},
            {"worst", number(d.worst)},
            {"floor", d.floor ? number(*d.floor) : nlohmann::json()},
            {"agreement", name(d.agreement())},
            {"differs", d.agreement() == Agreement::kDiffers},
            {"sequence", d.at.sequence ? nlohmann::json(*d.at.sequence) : nlohmann::json()},
            {"head", d.at.head ? nlohmann::json(*d.at.head) : nlohmann::json()},
            {"token", d.at.token ? nlohmann::json(*d.at.token) : nlohmann::json()},
            {"rank", toJson(d.rank)},
            {"other_rank", toJson(d.other)}};
  };
  nlohmann::json all = nlohmann::json::array(), costs = nlohmann::json::array();
  for (const CostPair& pair : comparison.costs)
    costs.push_back({{"train_step", pair.place.train_step},
                     {"layer", toJson(pair.place.layer)},
                     {"direction", name(pair.place.direction)},
                     {"run", jsonOf(pair.run)},
                     {"other", jsonOf(pair.other)}});
  for (const TensorDifference& d : comparison.all) all.push_back(json(d));
  const TensorDifference *first = comparison.first(), *steepest = comparison.steepest();
  return {{"settings", comparison.settings},
          {"compared", comparison.all.size()},
          {"verdict", name(comparison.verdict())},
          {"differing", comparison.count(Agreement::kDiffers)},
          {"not_judged", comparison.count(Agreement::kUnknown)},
          {"unjudged", comparison.unjudged},
          {"has_floor", comparison.has_floor},
          {"first", first ? json(*first) : nlohmann::json()},
          {"steepest", steepest ? json(*steepest) : nlohmann::json()},
          {"left_out", comparison.left_out},
          {"remarks", comparison.remarks},
          {"costs", costs},
          {"tensors", all}};
}

}  // namespace ringscope::traces

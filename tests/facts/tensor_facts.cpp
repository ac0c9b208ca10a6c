// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "tests/facts/scene_facts.h"
#include "traces/format/trace/trace.h"
#include "viz/views/diff/error_map_scene.h"
#include "viz/views/tensor/tensor_scene.h"

namespace ringscope::facts {
namespace {

using viz::ErrorUnit;

int below(std::mt19937& random, std::int64_t count) {
  return static_cast<int>(random() % static_cast<unsigned>(count));
}

const viz::TensorRow* rowNamed(const std::vector<viz::TensorRow>& rows, const std::string& name) {
  const auto found = std::ranges::find(rows, name, &viz::TensorRow::name);
  return found == rows.end() ? nullptr : &*found;
}

std::string threeDigits(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3g", value == 0 ? 0.0 : value);
  return text;
}

/// Checks the statistics that a picture of a slice shows for all its values.
void expectStatistics(const viz::TensorScene& scene) {
  std::vector<double> finite;
  for (const double v : scene.slice.values)
    if (std::isfinite(v)) finite.push_back(v);
  std::ranges::sort(finite);
  std::int64_t counted = scene.histogram.nan + scene.histogram.inf;
  for (const std::int64_t bin : scene.histogram.bins) counted += bin;
  EXPECT_EQ(counted, std::ssize(scene.slice.values));
  if (finite.empty()) return;
  EXPECT_EQ(scene.histogram.low, finite.front());
  EXPECT_EQ(scene.histogram.high, finite.back());
  const auto last = static_cast<double>(finite.size() - 1);
  const double low = finite[static_cast<std::size_t>(0.01 * last)],
               high = finite[static_cast<std::size_t>(0.99 * last)];
  EXPECT_EQ(scene.range.low, high > low ? low : low - 0.5);
  EXPECT_EQ(scene.range.high, high > low ? high : low + 0.5);
}

/// The smallest and largest of all that was recorded, and what is said where nothing was kept.
void expectRange(const Case& c, const viz::TensorRow& row) {
  const auto values = c.trace->values(row.record);
  if (!values) {
    const auto scene = viz::makeTensorScene(*c.trace, row, {{}, nullptr, false});
    EXPECT_NE(scene.note.find("--capture values:steps="), std::string::npos) << scene.note;
    EXPECT_NE(scene.note.find(row.range()), std::string::npos) << scene.note;
    return;
  }
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const double v : *values)
    if (std::isfinite(v)) least = std::min(least, v), most = std::max(most, v);
  EXPECT_EQ(row.range(),
            least > most ? "nothing finite" : threeDigits(least) + " … " + threeDigits(most));
}

/// Some cells of a layer's result, of the tokens that the rank owns.
class ResultFacts {
 public:
  ResultFacts(const Case& c, const Look& look, std::mt19937& random)
      : c_(c),
        oracle_(c.oracle(look.step, look.group)),
        own_(oracle_.own(look.rank)),
        numbers_(c.numbers(look.step, look.layer, look.group)),
        batch_(below(random, oracle_.plan().batch)),
        head_(below(random, oracle_.plan().heads / c.tp)),
        local_(below(random, std::ssize(own_))) {}

  void expect(const viz::TensorRow& row) const {
    const bool lse = row.name() == "lse";
    std::vector<std::int64_t> lead{batch_};
    if (!lse) lead.push_back(head_);
    const auto scene = viz::makeTensorScene(*c_.trace, row, {lead, nullptr, false});
    if (scene.slice.values.empty()) return;
    EXPECT_EQ(scene.lead, lead);
    ASSERT_EQ(scene.slice.rows, lse ? oracle_.plan().heads / c_.tp : std::ssize(own_));
    ASSERT_EQ(scene.slice.columns, lse ? std::ssize(own_) : oracle_.plan().width);
    expectStatistics(scene);
    const bool plain = c_.numbers_are_exact && c_.mistake != "nan_from_one_rank";
    if (!numbers_ || !plain || (!lse && !c_.out_is_plain)) return;
    const Attended exact = expected();
    const double says = lse ? scene.slice.at(head_, local_) : scene.slice.at(local_, 0);
    const double should = lse ? exact.lse : exact.out;
    EXPECT_TRUE(says == should || std::abs(says - should) < 5 * c_.tolerance)
        << row.name() << " says " << says << " and should " << should;
  }

 private:
  /// With the sink of its head, which is a key without a value.
  Attended expected() const {
    std::vector<int> all(static_cast<std::size_t>(oracle_.plan().length));
    std::iota(all.begin(), all.end(), 0);
    Attended result =
        attend(oracle_, *numbers_, batch_, head_, own_[static_cast<std::size_t>(local_)], all);
    if (numbers_->sinks.empty()) return result;
    const double sink = numbers_->sinks[static_cast<std::size_t>(head_)];
    const double most = std::max(sink, result.lse);
    const double lse = most + std::log(std::exp(sink - most) + std::exp(result.lse - most));
    return {lse, result.out * std::exp(result.lse - lse)};
  }

  const Case& c_;
  const PlanOracle& oracle_;
  const std::vector<int>& own_;
  std::optional<Numbers> numbers_;
  int batch_, head_, local_;
};

void expectPositionIds(const Case& c, const Look& look, const viz::TensorRow& row) {
  const auto scene = viz::makeTensorScene(*c.trace, row, {{}, nullptr, false});
  if (scene.slice.values.empty()) return;
  const auto count = std::ssize(c.oracle(look.step, look.group).own(look.rank));
  ASSERT_EQ(scene.slice.columns, count);
  for (int local = 0; local < count; ++local)
    EXPECT_EQ(scene.slice.at(0, local), usedPosition(c, look, look.rank, local));
}

/// The rows list exactly the blocks that the rank attends in this ring step.
void expectBlocks(const Case& c, const Look& look, const std::vector<viz::TensorRow>& rows) {
  const PlanOracle& oracle = c.oracle(look.step, look.group);
  std::set<int> shown, attended;
  for (const auto& row : rows) {
    std::smatch words;
    const std::string name = row.name();
    if (std::regex_search(name, words, std::regex("^block_lse of block (\\d+), piece \\d+")))
      shown.insert(std::stoi(words[1]));
  }
  for (const int source : oracle.attended(look.rank, look.ring_step, false))
    attended.insert(c.worldRankFor(look.group, source));
  EXPECT_EQ(shown, attended);
}

/// Returns the ratio that a byte in the record of a row's error stands for.
double ratioFor(std::uint8_t code) {
  if (code == 255) return std::numeric_limits<double>::infinity();
  return code == 0 ? 0 : std::pow(2.0, (code - 127) / 8.0);
}

void expectNear(double map, double record, const std::string& what) {
  if (!(record > 1e-4 && record < 4e4)) return;  // beyond what a byte tells
  EXPECT_NEAR(map / record, 1, 0.06) << what;
}

/// The map of one tensor, and the record that it shows.
class MapFacts {
 public:
  MapFacts(const Case& c, const Look& look, const viz::ErrorMap& map,
           const traces::DiffRecord& diff)
      : c_(c), look_(look), map_(map), diff_(diff), oracle_(c.oracle(look.step, look.group)) {}

  void expect() const {
    const Plan& plan = oracle_.plan();
    const bool kv = diff_.tensor == "dk" || diff_.tensor == "dv";
    const int positions = c_.train ? plan.length : c_.unpadded;
    ASSERT_EQ(map_.heads, kv ? plan.kv_heads : plan.heads);
    ASSERT_EQ(map_.positions, positions);
    const int batch = plan.batch * c_.dp;
    ASSERT_EQ(diff_.rows.rows_a_code, 1);
    ASSERT_EQ(std::ssize(diff_.rows.codes), batch * map_.heads * map_.positions);
    double most = 0;
    for (std::size_t cell = 0; cell < map_.values.size(); ++cell) {
      double worst = 0;
      for (std::size_t b = 0; b < static_cast<std::size_t>(batch); ++b)
        worst = std::max(worst, ratioFor(diff_.rows.codes[b * map_.values.size() + cell]));
      EXPECT_TRUE(map_.values[cell] == worst || std::abs(map_.values[cell] / worst - 1) < 1e-9);
      most = std::max(most, map_.values[cell]);
    }
    expectNear(most, diff_.ratio, "worst row");
    expectOwners(c_.stats && positions == plan.length);
  }

 private:
  void expectOwners(bool known) const {
    std::vector<int> owners(static_cast<std::size_t>(map_.positions), -1);
    for (const auto& span : map_.owners)
      for (auto at = span.begin; at < span.end; ++at)
        owners[static_cast<std::size_t>(at)] = span.rank.value();
    if (!known) {
      EXPECT_TRUE(map_.owners.empty());
      return;
    }
    std::vector<double> by_rank(static_cast<std::size_t>(c_.cp), 0);
    for (int token = 0; token < map_.positions; ++token) {
      const int rank = oracle_.findOwner(token);
      EXPECT_EQ(owners[static_cast<std::size_t>(token)], c_.worldRankFor(look_.group, rank));
      for (int h = 0; h < map_.heads; ++h) {
        auto& most = by_rank[static_cast<std::size_t>(rank)];
        most = std::max(most, map_.values[static_cast<std::size_t>(h * map_.positions + token)]);
      }
    }
    for (std::size_t rank = 0; rank < diff_.ratio_by_rank.size(); ++rank)
      expectNear(by_rank[rank], diff_.ratio_by_rank[rank], "rank " + std::to_string(rank));
  }

  const Case& c_;
  const Look& look_;
  const viz::ErrorMap& map_;
  const traces::DiffRecord& diff_;
  const PlanOracle& oracle_;
};

/// In other units than the limit there is a map where its values were kept.
void expectUnits(const Case& c, const Look& look, viz::Cursor cursor,
                 const traces::DiffRecord& diff) {
  for (const auto unit : {ErrorUnit::kAbsolute, ErrorUnit::kRelative, ErrorUnit::kUlp}) {
    const auto map = viz::makeErrorMap(*c.trace, cursor, unit);
    const bool kept = c.train && c.values && (c.capture == "full" || look.step == 0);
    EXPECT_EQ(map.missing.empty(), kept) << map.missing;
    EXPECT_TRUE(c.train || map.missing.starts_with("train with")) << map.missing;
    if (map.values.empty() || unit != ErrorUnit::kAbsolute || !std::isfinite(diff.largest))
      continue;
    EXPECT_NEAR(*std::ranges::max_element(map.values), diff.largest, 1e-4 * diff.largest);
  }
}

}  // namespace

void expectTensors(const Case& c, const Look& look, std::mt19937& random) {
  const auto rows = viz::makeTensorRows(*c.trace, look.cursor(c), "");
  const PlanOracle& oracle = c.oracle(look.step, look.group);
  std::set<std::string> names;
  for (const auto& row : rows) names.insert(row.name());
  EXPECT_EQ(names.size(), rows.size()) << "two tensors of one name cannot be told apart";
  if (!c.stats) return;
  if (!look.backward) expectBlocks(c, look, rows);
  const auto* positions = rowNamed(rows, "position_ids");
  EXPECT_EQ(positions != nullptr, c.train);
  if (positions) expectPositionIds(c, look, *positions);
  for (const auto& row : rows) expectRange(c, row);
  if (look.backward) return;
  const Plan& plan = oracle.plan();
  const std::int64_t local = plan.length / plan.cp;
  std::vector<std::int64_t> shape{plan.batch, plan.heads / plan.tp, local};
  const ResultFacts results(c, look, random);
  const auto* lse = rowNamed(rows, "lse");
  const auto* out = rowNamed(rows, "out");
  ASSERT_TRUE(lse && out);
  EXPECT_EQ(lse->record.shape, shape);
  shape.push_back(plan.width);
  EXPECT_EQ(out->record.shape, shape);
  results.expect(*lse);
  results.expect(*out);
}

void expectErrorMaps(const Case& c, const Look& look) {
  for (const char* tensor : {"out", "lse", "dv", "dk", "dq"}) {
    SCOPED_TRACE(tensor);
    viz::Cursor cursor = look.cursor(c);
    cursor.tensor = tensor;
    const auto map = viz::makeErrorMap(*c.trace, cursor, ErrorUnit::kLimit);
    if (!c.verify) {
      EXPECT_EQ(map.missing, "a run with --verify would show it");
      continue;
    }
    const auto diff = std::ranges::find_if(c.trace->diffs(), [&](const auto& d) {
      return d.isolated && d.tensor == tensor && d.place.train_step == look.step &&
             d.place.layer.value() == look.layer;
    });
    if (diff == c.trace->diffs().end()) {
      EXPECT_EQ(c.mistake, "nan_from_one_rank");
      EXPECT_EQ(map.missing, "it was not compared: what it is computed from is not finite");
      continue;
    }
    ASSERT_EQ(map.missing, "");
    MapFacts(c, look, map, *diff).expect();
    expectUnits(c, look, cursor, *diff);
  }
}

}  // namespace ringscope::facts

// SPDX-License-Identifier: Apache-2.0
#include "tests/facts/predict_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "tests/facts/drawing.h"
#include "tests/facts/predicted.h"
#include "tests/facts/said.h"
#include "traces/format/core/error.h"
#include "traces/plan/run_rules.h"

namespace ringscope::facts {

using nlohmann::json;
using traces::Balance;
using traces::RunSpec;
using traces::Strategy;

traces::Hardware drawHardware(std::mt19937& random) {
  traces::Hardware hardware;
  hardware.link = pickOne<traces::Link>(random, {{"case", 0, 0, true, true},
                                                 {"case", 25, 5, true, true},
                                                 {"case", 0.5, 0, true, true},
                                                 {"case", 300, 2.5, true, true}});
  hardware.link.full_duplex = random() % 4 > 0;
  hardware.link.shared = random() % 4 > 0;
  hardware.overlap = random() % 4 > 0;
  hardware.compute_scale = pickOne<double>(random, {1, 1, 2, 0.5});
  hardware.floors = pickOne<traces::Floors>(random, {{}, {}, {2.4, 8.4}, {0.01, 30}});
  if (random() % 4 == 0) hardware.device = traces::DeviceShare{"case", 0.25};
  if (random() % 4 == 0) hardware.tp_link = traces::Link{"case of tp", 450, 3.4, true, true};
  return hardware;
}

namespace {

traces::ModelSizes drawSizes(std::mt19937& random) {
  traces::ModelSizes sizes;
  sizes.name = "drawn";
  sizes.layers = drawn(random, 1, 3);
  sizes.kv_heads = drawn(random, 1, 8);
  sizes.heads = sizes.kv_heads * drawn(random, 1, 4);
  sizes.head_dim = pickOne<int>(random, {8, 64});
  sizes.hidden_size = sizes.heads * sizes.head_dim;
  sizes.intermediate_size = 4 * sizes.hidden_size;
  sizes.vocab_size = 2 * drawn(random, 50, 5000);
  sizes.tied_embeddings = random() % 2;
  return sizes;
}

RunSpec drawRun(std::mt19937& random) {
  RunSpec run;
  run.dp = drawn(random, 1, 2);
  run.tp = pickOne<int>(random, {1, 1, 2});
  run.cp = pickOne<int>(random, {1, 2, 3, 4, 6, 8});
  run.strategy = static_cast<Strategy>(random() % 4);
  run.rotate = static_cast<traces::Rotate>(random() % 3);
  run.order = static_cast<traces::Order>(random() % 2);
  run.ulysses = run.strategy == Strategy::kHybrid ? drawn(random, 1, run.cp) : 0;
  run.mask = pickOne<traces::MaskKind>(
      random, {traces::MaskKind::kFull, traces::MaskKind::kCausal, traces::MaskKind::kWindow});
  run.balance = static_cast<Balance>(random() % 3);
  run.seq_len = std::int64_t{2} * run.cp * drawn(random, 1, 6);
  run.window = run.mask == traces::MaskKind::kWindow ? drawn(random, 1, 40) : 0;
  run.batch = std::int64_t{run.dp} * drawn(random, 1, 2);
  run.dtype = pickOne<traces::DType>(random, {traces::DType::kBFloat16, traces::DType::kFloat32});
  run.fp8 = random() % 6 == 0;
  run.recompute = random() % 4 == 0;
  return run;
}

}  // namespace

Plan planFor(const RunSpec& run, const traces::ModelSizes& sizes) {
  Plan plan;
  plan.tp = run.tp;
  plan.cp = run.cp;
  if (run.strategy == Strategy::kUlysses) plan.ulysses = run.cp;
  if (run.strategy == Strategy::kHybrid) plan.ulysses = run.ulysses;
  plan.gathers = run.strategy == Strategy::kAllGather;
  plan.gathers_once = run.rotate == traces::Rotate::kAllGather;
  plan.own_last = run.order == traces::Order::kDiagonalLast;
  plan.dealing = static_cast<Dealing>(*run.balance);
  plan.length = static_cast<int>(run.seq_len);
  plan.causal = run.mask != traces::MaskKind::kFull;
  plan.window = static_cast<int>(run.window);
  plan.heads = static_cast<int>(sizes.heads);
  plan.kv_heads = static_cast<int>(sizes.kv_heads);
  plan.width = static_cast<int>(sizes.head_dim);
  plan.batch = static_cast<int>(run.batch / run.dp);
  plan.element_bytes = static_cast<int>(traces::byteSize(run.dtype));
  plan.fp8 = run.fp8;
  return plan;
}

namespace {

/// Bytes of attention's messages, a mean of the ranks.
void expectBytes(const RunSpec& run, const traces::ModelSizes& sizes, const json& communication) {
  const PlanOracle oracle(planFor(run, sizes));
  std::int64_t all = 0, forward = 0, forward_kv = 0;
  for (int rank = 0; rank < run.cp; ++rank)
    for (int step = 0; step < oracle.ringSteps(); ++step)
      for (const bool backward : {false, true})
        for (const Hop& hop : oracle.hops(rank, step, backward)) {
          all += hop.bytes;
          forward += backward ? 0 : hop.bytes;
          forward_kv += backward || hop.payload != "kv" ? 0 : hop.bytes;
        }
  const auto mean = [&](std::int64_t bytes) {
    return static_cast<double>(bytes * sizes.layers) / run.cp;
  };
  EXPECT_DOUBLE_EQ(communication["attention"]["bytes"].get<double>(), mean(all));
  EXPECT_DOUBLE_EQ(communication["forward"]["bytes"].get<double>(), mean(forward));
  EXPECT_DOUBLE_EQ(communication["forward_kv"]["bytes"].get<double>(), mean(forward_kv));
}

double of(const json& sums, const char* part, const char* field) {
  return sums[part][field].get<double>();
}

/// Checks what must hold for the figures of every prediction.
void expectFigures(const json& prediction) {
  const json& sums = prediction["communication"];
  for (const auto& [name, sum] : sums.items()) {
    const double under_way = sum["under_way_ns"], hidden = sum["hidden_ns"];
    EXPECT_NEAR(under_way,
                hidden + of(sums, name.c_str(), "exposed_ns") - sum["late_ns"].get<double>(), 1)
        << name;
  }
  for (const char* field : {"bytes", "exposed_ns", "hidden_ns", "late_ns"})
    EXPECT_NEAR(of(sums, "attention", field),
                of(sums, "forward", field) + of(sums, "backward", field), 1)
        << field;
  EXPECT_LE(of(sums, "last_hop_home", "exposed_ns"), of(sums, "backward", "exposed_ns"));
  const double step = prediction["step_ns"];
  EXPECT_NEAR(prediction["exposed_share"].get<double>() * step, of(sums, "attention", "exposed_ns"),
              1e-6 * step);
  EXPECT_LE(of(sums, "attention", "exposed_ns") + of(sums, "other", "exposed_ns"), step + 1);
}

void expectHead(const json& answer, const std::string& text) {
  static const std::regex kWords(
      "A training step takes (.*)\\. Of it a rank stands still on average for (.*) \\((.*)\\) "
      "because of "
      "attention's messages: (.*) in forward, (.*?) in backward(?:, of that (.*) for dK and dV "
      "whose last hop has nothing to hide under)?\\.\n(.*) of messages are hidden; (.*) of the "
      "exposed time a peer was late; gradients and other collectives take (.*)\\.\n(.*)\n");
  std::smatch w;
  ASSERT_TRUE(std::regex_search(text, w, kWords)) << "no oracle knows this text";
  const json &asked = answer["asked"], &sums = asked["communication"];
  EXPECT_TRUE(saysDuration(w[1], std::round(asked["step_ns"].get<double>())));
  EXPECT_TRUE(saysDuration(w[2], std::round(of(sums, "attention", "exposed_ns"))));
  EXPECT_TRUE(saysShare(w[3], asked["exposed_share"]));
  EXPECT_TRUE(saysDuration(w[4], std::round(of(sums, "forward", "exposed_ns"))));
  EXPECT_TRUE(saysDuration(w[5], std::round(of(sums, "backward", "exposed_ns"))));
  const double home = of(sums, "last_hop_home", "exposed_ns");
  EXPECT_EQ(w[6].matched, home > 0);
  EXPECT_TRUE(!w[6].matched || saysDuration(w[6], std::round(home)));
  EXPECT_TRUE(saysDuration(w[7], std::round(of(sums, "attention", "hidden_ns"))));
  EXPECT_TRUE(saysDuration(w[8], std::round(of(sums, "attention", "late_ns"))));
  EXPECT_TRUE(saysDuration(w[9], std::round(of(sums, "other", "exposed_ns"))));
  expectLimits(w[10], asked["limits"], asked["step_ns"]);
}

/// A row for each strategy, and which of them is the quickest.
void expectTable(const json& answer, const std::string& text) {
  const json& strategies = answer["strategies"];
  static const std::regex kRow(
      "(.*?) +(\\S+ (?:ns|µs|ms|s)) +(\\S+ (?:ns|µs|ms|s)) +(\\S+ %) +(\\S+ (?:ns|µs|ms|s)) "
      "+(\\S+ [KMGT]?i?B) +(\\w+-bound|mixed|nothing takes time)");
  std::istringstream lines(text);
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    std::smatch w;
    if (!std::regex_match(line, w, kRow)) continue;
    ASSERT_LT(rows, strategies.size());
    const json& row = strategies[rows++];
    EXPECT_EQ(w[1], row["title"].get<std::string>());
    const json& sums = row["communication"];
    EXPECT_TRUE(saysDuration(w[2], std::round(row["step_ns"].get<double>()))) << line;
    EXPECT_TRUE(saysDuration(w[3], std::round(of(sums, "attention", "exposed_ns")))) << line;
    EXPECT_TRUE(saysShare(w[4], row["exposed_share"])) << line;
    EXPECT_TRUE(saysDuration(w[5], std::round(of(sums, "attention", "hidden_ns")))) << line;
    EXPECT_TRUE(saysBytes(w[6], std::floor(of(sums, "attention", "bytes")))) << line;
    const json& bound = row["limits"]["bound_by"];
    EXPECT_EQ(w[7] == "mixed" || w[7] == "nothing takes time", bound.is_null()) << line;
    EXPECT_TRUE(bound.is_null() || w[7] == bound.get<std::string>() + "-bound") << line;
  }
  EXPECT_EQ(rows, strategies.size() > 1 ? strategies.size() : 0);
  expectQuickest(strategies, text);
}

/// Counts the parameters of the whole model, tensor by tensor.
std::int64_t parametersMeant(const traces::ModelSizes& s) {
  std::int64_t all = 0;
  for (std::int64_t layer = 0; layer < s.layers; ++layer) {
    all += 2 * s.hidden_size * s.heads * s.head_dim;     // q and out
    all += 2 * s.hidden_size * s.kv_heads * s.head_dim;  // k and v
    all += 3 * s.hidden_size * s.intermediate_size;      // gate, up and down
    all += 2 * s.hidden_size;  // norms before attention and before the MLP
  }
  return all + s.hidden_size + (s.tied_embeddings ? 1 : 2) * s.vocab_size * s.hidden_size;
}

void expectTitle(const traces::PlannedAnswer& answer, const std::string& text) {
  const RunSpec& run = answer.asked.run;
  std::smatch w;
  ASSERT_TRUE(std::regex_search(
      text, w,
      std::regex("^Model, not a measurement: drawn, ([\\d,]+) parameters, ([\\d,]+) tokens, batch "
                 "(\\d+), dp (\\d+), tp (\\d+), cp (\\d+), (.*), (\\w+), (\\w+)\n")))
      << "no oracle knows this text:\n"
      << text;
  EXPECT_TRUE(saysCount(w[1], parametersMeant(answer.sizes)));
  EXPECT_TRUE(saysCount(w[2], run.seq_len));
  EXPECT_EQ(std::stoi(w[3]), run.batch);
  EXPECT_EQ(std::stoi(w[4]), run.dp);
  EXPECT_EQ(std::stoi(w[5]), run.tp);
  EXPECT_EQ(std::stoi(w[6]), run.cp);
  EXPECT_EQ(w[7], answer.asked.title);
  EXPECT_EQ(w[8], traces::name(*run.balance));
  EXPECT_EQ(w[9], traces::name(run.mask));
}

/// The run as asked is among the strategies, with the same figures.
void expectAskedAmongAll(const traces::PlannedAnswer& answer, const json& told) {
  int same = 0;
  for (std::size_t i = 0; i < answer.strategies.size(); ++i) {
    const RunSpec& run = answer.strategies[i].run;
    const json& each = told["strategies"][i];
    expectFigures(each);
    RunSpec split = run;
    if (run.strategy == Strategy::kHybrid) split.ulysses = traces::ulyssesSize(run);
    expectBytes(split, answer.sizes, each["communication"]);
    if (each["title"] != told["asked"]["title"]) continue;
    ++same;
    EXPECT_EQ(each["step_ns"], told["asked"]["step_ns"]);
    EXPECT_EQ(each["communication"], told["asked"]["communication"]);
  }
  EXPECT_LE(same, 1);
}

}  // namespace

void expectPlannedPrediction(std::mt19937& random) {
  traces::PlannedAnswer answer;
  RunSpec run;
  for (bool can_be = false; !can_be;) {
    run = drawRun(random);
    answer.sizes = drawSizes(random);
    answer.assumptions.hardware = drawHardware(random);
    answer.assumptions.device = traces::deviceSpeed(traces::devicePreset("h100").value, run, 0.6);
    try {
      answer.asked = traces::predict(run, answer.sizes, answer.assumptions.device,
                                     answer.assumptions.hardware);
      can_be = true;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::kUsage) << error.what();
    }
  }
  answer.strategies = traces::predictStrategies(run, answer.sizes, answer.assumptions.device,
                                                answer.assumptions.hardware);
  const json told = traces::toJson(answer);
  const std::string text = traces::toText(answer);
  SCOPED_TRACE(text);
  EXPECT_EQ(told["parameters"], parametersMeant(answer.sizes));
  expectTitle(answer, text);
  expectFigures(told["asked"]);
  expectBytes(run, answer.sizes, told["asked"]["communication"]);
  expectHead(told, text);
  expectTable(told, text);
  expectAskedAmongAll(answer, told);
  expectWork(run, answer.sizes);
}

}  // namespace ringscope::facts

// SPDX-License-Identifier: Apache-2.0
// Predictions of random runs: the work of the plan, lengths, and recordings.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <regex>

#include "tests/facts/drawing.h"
#include "tests/facts/predict_facts.h"
#include "tests/facts/predicted.h"
#include "tests/facts/said.h"
#include "traces/format/core/error.h"

namespace ringscope::facts {

using nlohmann::json;
using traces::Balance;
using traces::RunSpec;
using traces::Strategy;

namespace {

/// Pairs of the busiest rank.
std::int64_t mostPairs(const RunSpec& run, const traces::ModelSizes& sizes) {
  const PlanOracle oracle(planFor(run, sizes));
  std::int64_t most = 0;
  for (int rank = 0; rank < run.cp; ++rank) {
    std::int64_t pairs = 0;
    for (int source = 0; source < run.cp; ++source) pairs += oracle.pairs(rank, source);
    most = std::max(most, pairs);
  }
  return most;
}

}  // namespace

/// With blocks that come at once, for nothing, a step takes what the busiest rank attends: 1 µs a
/// pair, and 2.5 in backward. So balances compare as their plans do.
void expectWork(RunSpec run, const traces::ModelSizes& sizes) {
  constexpr double kNoTime = std::numeric_limits<double>::infinity();
  run.strategy = Strategy::kAllGather;
  run.ulysses = 0;
  const double flops =
      4e6 * static_cast<double>(sizes.head_dim * (sizes.heads / run.tp) * (run.batch / run.dp));
  const traces::DeviceSpeed device{"case", kNoTime, flops, flops, kNoTime};
  traces::Hardware hardware;
  hardware.link = {"free", 0, 0, true, true};
  for (const Balance balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped}) {
    if (run.mask == traces::MaskKind::kFull && balance != Balance::kNone) continue;
    run.balance = balance;
    const auto predicted = traces::predict(run, sizes, device, hardware);
    EXPECT_EQ(predicted.step_ns, static_cast<double>(3500 * sizes.layers * mostPairs(run, sizes)))
        << traces::name(balance);
  }
}

void expectSweep(std::mt19937& random) {
  traces::ModelSizes sizes{"drawn", 1,    1024, 16,   drawn(random, 0, 1) ? 16 : 2,
                           64,      4096, 8192, false};
  RunSpec run;
  run.cp = pickOne<int>(random, {2, 4, 8});
  run.mask = pickOne<traces::MaskKind>(
      random, {traces::MaskKind::kCausal, traces::MaskKind::kFull, traces::MaskKind::kWindow});
  run.balance =
      run.mask == traces::MaskKind::kFull ? Balance::kNone : static_cast<Balance>(random() % 3);
  run.window = run.mask == traces::MaskKind::kWindow ? 1 << drawn(random, 8, 14) : 0;
  run.dtype = traces::DType::kBFloat16;
  traces::PlannedAnswer answer;
  answer.sizes = sizes;
  traces::Hardware& hardware = answer.assumptions.hardware;
  hardware.link = {"case", pickOne<double>(random, {12.5, 100, 450}), 3, true, true};
  const std::int64_t from = std::int64_t{64} << drawn(random, 0, 4),
                     to = from << drawn(random, 2, 9);
  run.seq_len = from;
  answer.assumptions.device = traces::deviceSpeed(traces::devicePreset("h100").value, run, 0.6);
  answer.asked = traces::predict(run, sizes, answer.assumptions.device, hardware);
  answer.sweep = traces::sweepLengths(run, sizes, answer.assumptions.device, hardware, from, to);
  expectHides(traces::toJson(answer)["sweep"], traces::toText(answer));
}

/// "By the model a ring hides its forward hops from a length of 12,288 on."
void expectHides(const json& sweep, const std::string& text) {
  static const std::regex kHides(
      "By the model a ring hides its forward hops from a length of ([\\d,]+) on, up to "
      "([\\d,]+)\\.\n");
  static const std::regex kNever(
      "By the model a ring does not hide its forward hops (at any of these lengths|at the longest "
      "of these lengths, though at "
      "some shorter ones)\\.\n");
  std::smatch from, never;
  const bool hides = std::regex_search(text, from, kHides);
  ASSERT_TRUE(hides || std::regex_search(text, never, kNever)) << "no oracle knows this sentence:\n"
                                                               << text;
  const json& at = sweep["ring_hides_forward_at"];
  EXPECT_EQ(at.is_null(), !hides);
  const std::int64_t length = hides ? at.get<std::int64_t>() : 0;
  if (hides) {
    EXPECT_TRUE(saysCount(from[1], length));
    EXPECT_TRUE(saysCount(from[2], sweep["lengths"].back()["seq_len"]));
  }
  bool some = false, longest = false;
  for (const json& row : sweep["lengths"])
    for (const json& each : row["strategies"]) {
      if (each["title"] != "ring") continue;
      const json& kv = each["communication"]["forward_kv"];
      const double hidden = kv["hidden_ns"], under_way = kv["under_way_ns"];
      longest = under_way == 0 || hidden / under_way >= 0.99;
      some = some || longest;
      const std::int64_t here = row["seq_len"];
      if (hides && here >= length) {
        EXPECT_TRUE(longest) << "not at " << here << "\n" << text;
      }
    }
  if (!hides) {
    EXPECT_FALSE(longest) << text;
    EXPECT_EQ(some, never[1] != "at any of these lengths") << text;
  }
}

namespace {

/// Returns the bytes that a rank receives in the ring of a recorded step, by the plan.
std::int64_t receivedBytes(const Case& c, int step, int world) {
  std::int64_t bytes = 0;
  const int group = world / c.cp, rank = world % c.cp;
  const PlanOracle& oracle = c.oracle(step, group);
  for (int other = 0; other < c.cp; ++other)
    for (int ring_step = 0; ring_step < oracle.ringSteps(); ++ring_step)
      for (const bool backward : {false, true})
        for (const Hop& hop : oracle.hops(other, ring_step, backward))
          bytes += hop.to == rank ? hop.bytes * c.layers : 0;
  return bytes;
}

void expectRecordedText(const json& answer, const std::string& text) {
  static const std::regex kWords(
      "Model, not a measurement: the recorded schedule of (?:step (\\d+)|steps (\\d+) to (\\d+)), "
      "([\\d,]+) ranks?, as if each had its own device\nA training step takes (.*); recorded "
      "(.*), (on a machine with a core for each rank|where ranks shared cores or may have)\\.\nOf "
      "it a rank stands still on average for (.*) because of attention's messages \\((.*) in "
      "forward, (.*) "
      "in backward\\), (.*) because of collectives; (.*) of messages are hidden\\.\n(.*)\n");
  std::smatch w;
  ASSERT_TRUE(std::regex_search(text, w, kWords)) << "no oracle knows this text:\n" << text;
  const int first = std::stoi(w[1].matched ? w[1] : w[2]),
            last = std::stoi(w[1].matched ? w[1] : w[3]);
  EXPECT_EQ(first, answer["first_step"]);
  EXPECT_EQ(last, answer["last_step"]);
  EXPECT_TRUE(saysCount(w[4], std::ssize(answer["ranks"])));
  EXPECT_TRUE(saysDuration(w[5], std::round(answer["step_ns"].get<double>())));
  EXPECT_TRUE(saysDuration(w[6], std::round(answer["recorded_step_ns"].get<double>())));
  EXPECT_EQ(w[7].str().starts_with("on a"), answer["own_cores"].get<bool>());
  const json& sums = answer["communication"];
  const auto says = [](const std::string& words, const json& ns) {
    return saysDuration(words, std::round(ns.get<double>()));
  };
  EXPECT_TRUE(says(w[8], sums["attention"]["exposed_ns"]));
  EXPECT_TRUE(says(w[9], sums["forward"]["exposed_ns"]));
  EXPECT_TRUE(says(w[10], sums["backward"]["exposed_ns"]));
  EXPECT_TRUE(says(w[11], sums["other"]["exposed_ns"]));
  EXPECT_TRUE(says(w[12], sums["attention"]["hidden_ns"]));
  const json& path = answer["critical_path"];
  expectLimits(w[13], answer["limits"], path.empty() ? 0 : path.back()["end_ns"].get<double>());
  static const std::regex kRank(
      "rank (\\d+): exposed (.*), of that (.*) for late peers; hidden (.*), (.*) received\n");
  std::size_t rank = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), kRank), end; at != end; ++at, ++rank) {
    ASSERT_LT(rank, answer["ranks"].size());
    const json& of_rank = answer["ranks"][rank];
    EXPECT_EQ(std::stoi((*at)[1]), of_rank["rank"]);
    EXPECT_TRUE(says((*at)[2], of_rank["exposed_ns"]));
    EXPECT_TRUE(says((*at)[3], of_rank["late_ns"]));
    EXPECT_TRUE(says((*at)[4], of_rank["hidden_ns"]));
    EXPECT_TRUE(saysBytes((*at)[5], of_rank["bytes"]));
  }
  EXPECT_EQ(rank, answer["ranks"].size());
}

}  // namespace

void expectRecordedPrediction(const Case& c, std::mt19937& random) {
  traces::RecordedAnswer answer;
  const auto steps = traces::recordedSteps(*c.trace);
  if (steps.empty()) return;
  answer.hardware = drawHardware(random);
  answer.first_step = pickOne(random, steps);
  answer.last_step = std::max(answer.first_step, pickOne(random, steps));
  answer.recorded = traces::recordedProgram(*c.trace, answer.first_step, answer.last_step);
  ASSERT_TRUE(answer.recorded.usable()) << answer.recorded.lacks.front();
  answer.timeline = traces::replay(answer.recorded.program, answer.hardware);
  answer.communication = traces::sumCommunication(answer.recorded.program, answer.timeline);
  const json told = traces::toJson(answer);
  expectRecordedText(told, traces::toText(answer));
  std::int64_t all = 0;
  for (int world = 0; world < c.groups() * c.cp; ++world) {
    std::int64_t bytes = 0;
    for (int step = answer.first_step; step <= answer.last_step; ++step)
      bytes += receivedBytes(c, step, world);
    all += bytes;
    if (!c.train) {
      EXPECT_EQ(told["ranks"][static_cast<std::size_t>(world)]["bytes"], bytes) << "rank " << world;
    }
  }
  EXPECT_DOUBLE_EQ(told["communication"]["attention"]["bytes"].get<double>(),
                   static_cast<double>(all) / (c.groups() * c.cp));
}

}  // namespace ringscope::facts

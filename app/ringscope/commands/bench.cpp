// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope/commands/bench.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <thread>

#include "app/ringscope/commands/command.h"
#include "engine/attend/attend.h"
#include "engine/attention/block_attention.h"
#include "traces/core/clock.h"
#include "traces/core/error.h"

namespace ringscope::app {

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

double seconds(const std::function<void()>& work) {
  const auto begin = traces::steadyNow();
  work();
  return static_cast<double>(traces::steadyNow() - begin) * 1e-9;
}

namespace {

using Options = BenchOptions;

engine::AttendInput randomInput(const Options& o, std::int64_t length, std::int64_t heads) {
  at::manual_seed(1);
  engine::AttendInput in;
  for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.dout})
    *t = at::randn({o.batch, heads, length, o.width});
  in.scale = 1 / std::sqrt(static_cast<double>(o.width));
  return in;
}

engine::AttendConfig configOf(int cp, int repeat) {
  engine::AttendConfig config;
  config.cp = cp;
  config.balance = "head_tail";
  config.capture = "none";
  config.repeat = repeat;
  config.track_memory = true;
  return config;
}

/// Median forward and backward of one device on all cores, the first round left out.
std::pair<double, double> unsharded(const engine::AttendInput& in, int rounds) {
  engine::DeviceAttention device(in.mask, in.scale);
  std::vector<double> forward, backward;
  for (int round = 0; round <= rounds; ++round) {
    engine::AttentionResult result;
    const double f = seconds([&] { result = device.forward(in.q, in.k, in.v, 0); });
    const double b = seconds([&] { device.backward(in.dout, in.q, in.k, in.v, result, 0); });
    if (round == 0) continue;
    forward.push_back(f);
    backward.push_back(b);
  }
  return {median(forward), median(backward)};
}

/// All strategies beside unsharded flash attention on the same cores.
nlohmann::json benchAttention(const Options& o) {
  const auto in = randomInput(o, o.length, o.heads);
  const auto [whole_forward, whole_backward] = unsharded(in, o.rounds);
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& strategy : engine::strategies()) {
    engine::AttendConfig config = configOf(o.cp, o.rounds + 1);
    config.attention.strategy = strategy.name;
    engine::Gate gate(o.cp);
    nlohmann::json row = {{"strategy", strategy.name}};
    try {
      const auto outcome = engine::attend(in, config, gate);
      const double f = median({outcome.forward_seconds.begin() + 1, outcome.forward_seconds.end()});
      const double b =
          median({outcome.backward_seconds.begin() + 1, outcome.backward_seconds.end()});
      const auto& h = outcome.hops.front();
      row.update({{"forward_seconds", f},
                  {"backward_seconds", b},
                  {"forward_of_unsharded", whole_forward / f},
                  {"backward_of_unsharded", whole_backward / b},
                  {"wait_seconds", static_cast<double>(h.wait_ns) * 1e-9},
                  {"sent_bytes", h.bytes_forward + h.bytes_backward},
                  {"peak_bytes", outcome.peak_bytes.front()}});
    } catch (const Error& error) {
      row["refused"] = error.what();
    }
    rows.push_back(row);
  }
  return {
      {"bench", "attention"},
      {"unsharded", {{"forward_seconds", whole_forward}, {"backward_seconds", whole_backward}}},
      {"cp", o.cp},
      {"length", o.length},
      {"virtual_ranks_share_cores", o.cp > static_cast<int>(std::thread::hardware_concurrency())},
      {"rows", rows}};
}

/// The slope of log y over log x: 1 grows linearly, −1 falls as 1 / x.
double slope(const std::vector<std::pair<double, double>>& points) {
  double mx = 0, my = 0, xy = 0, xx = 0;
  const auto n = static_cast<double>(points.size());
  for (const auto& [x, y] : points) mx += std::log(x) / n, my += std::log(y) / n;
  for (const auto& [x, y] : points) {
    xy += (std::log(x) - mx) * (std::log(y) - my);
    xx += (std::log(x) - mx) * (std::log(x) - mx);
  }
  return xy / xx;
}

/// Peak bytes of a rank in forward: over lengths at this cp, and over ranks at this length.
nlohmann::json benchMemory(const Options& o) {
  auto peak = [&](std::int64_t length, int cp) {
    engine::AttendConfig config = configOf(cp, 1);
    config.forward_only = true;
    engine::Gate gate(cp);
    const auto outcome = engine::attend(randomInput(o, length, o.heads), config, gate);
    return static_cast<double>(
        *std::max_element(outcome.peak_bytes.begin(), outcome.peak_bytes.end()));
  };
  nlohmann::json report = {{"bench", "memory"}, {"cp", o.cp}, {"length", o.length}};
  std::vector<std::pair<double, double>> by_length, by_ranks;
  for (std::int64_t length = o.length / 8; length <= o.length; length *= 2)
    by_length.emplace_back(static_cast<double>(length), peak(length, o.cp));
  for (int cp = std::max(1, o.cp / 4); cp < o.cp; cp *= 2)
    by_ranks.emplace_back(cp, peak(o.length, cp));
  by_ranks.emplace_back(o.cp, by_length.back().second);
  for (const auto& [x, y] : by_length)
    report["by_length"].push_back({{"length", x}, {"peak_bytes", y}});
  for (const auto& [x, y] : by_ranks) report["by_ranks"].push_back({{"cp", x}, {"peak_bytes", y}});
  report["slope_over_length"] = slope(by_length);
  report["slope_over_ranks"] = slope(by_ranks);
  return report;
}

void printAttention(const nlohmann::json& r) {
  std::cout << "causal, head_tail, cp " << r["cp"] << ", length " << r["length"]
            << (r["virtual_ranks_share_cores"]
                    ? "; virtual ranks share cores: waits are the scheduler's\n"
                    : "\n")
            << "strategy       forward            backward           waits     sent        peak\n";
  std::cout << std::fixed << std::setprecision(1) << std::left;
  const auto& u = r["unsharded"];
  std::cout << std::setw(12) << "unsharded" << std::right << std::setw(8)
            << u["forward_seconds"].get<double>() * 1e3 << " ms" << std::setw(16)
            << u["backward_seconds"].get<double>() * 1e3 << " ms\n";
  for (const auto& row : r["rows"]) {
    std::cout << std::left << std::setw(12) << row["strategy"].get<std::string>() << std::right;
    if (row.contains("refused")) {
      std::cout << "  " << row["refused"].get<std::string>() << "\n";
      continue;
    }
    std::cout << std::setw(8) << row["forward_seconds"].get<double>() * 1e3 << " ms" << std::setw(6)
              << std::setprecision(2) << row["forward_of_unsharded"].get<double>() << "×"
              << std::setprecision(1) << std::setw(9) << row["backward_seconds"].get<double>() * 1e3
              << " ms" << std::setprecision(2) << std::setw(6)
              << row["backward_of_unsharded"].get<double>() << "×" << std::setprecision(1)
              << std::setw(9) << row["wait_seconds"].get<double>() * 1e3 << " ms" << std::setw(8)
              << static_cast<double>(row["sent_bytes"].get<std::int64_t>()) / (1 << 20) << " MiB"
              << std::setw(8)
              << static_cast<double>(row["peak_bytes"].get<std::int64_t>()) / (1 << 20) << " MiB\n";
  }
}

void printMemory(const nlohmann::json& r) {
  for (const auto& row : r["by_length"])
    std::cout << "cp " << r["cp"] << ", length " << row["length"].get<double>() << ": "
              << row["peak_bytes"].get<double>() / (1 << 20) << " MiB a rank\n";
  for (const auto& row : r["by_ranks"])
    std::cout << "length " << r["length"] << ", cp " << row["cp"].get<double>() << ": "
              << row["peak_bytes"].get<double>() / (1 << 20) << " MiB a rank\n";
  std::cout << "slope over length " << r["slope_over_length"].get<double>()
            << " (linear: 1), over ranks " << r["slope_over_ranks"].get<double>() << " (1/P: -1)\n";
}

/// A benchmark by name; a new one is a function here and a line below.
struct Bench {
  const char* name;
  nlohmann::json (*run)(const Options&);
  void (*print)(const nlohmann::json&);
};
constexpr Bench kBenches[] = {{"attention", benchAttention, printAttention},
                              {"memory", benchMemory, printMemory},
                              {"hop", benchHop, printHop},
                              {"observe", benchObserve, printObserve}};

int run(const Options& o) {
  std::string known;
  for (const Bench& bench : kBenches) {
    known += (known.empty() ? "" : ", ") + std::string(bench.name);
    if (o.name != bench.name) continue;
    const auto report = bench.run(o);
    o.json ? void(std::cout << report.dump(2) << "\n") : bench.print(report);
    return kSuccess;
  }
  throw usageError("there is no benchmark '" + o.name + "'; use " + known);
}

}  // namespace

void addBench(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "bench",
      "Named benchmarks with their peers in one run: attention (all strategies beside "
      "unsharded flash attention), memory (peak a rank over length and ranks), hop (a KV block "
      "between two ranks beside memcpy and raw gloo), observe (what a stage costs to be seen)");
  auto o = std::make_shared<Options>();
  command->add_option("NAME", o->name, "attention, memory, hop or observe")->required();
  command->add_option("--cp", o->cp, "Ranks")->check(CLI::Range(1, 64))->capture_default_str();
  command->add_option("--length", o->length, "Tokens")
      ->check(CLI::Range(64, 1 << 24))
      ->capture_default_str();
  command->add_option("--batch", o->batch, "Sequences")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--heads", o->heads, "Query heads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--head-dim", o->width, "Head size")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--rounds", o->rounds, "Timed rounds")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--json", o->json, "Print the report as JSON");
  command->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace ringscope::app

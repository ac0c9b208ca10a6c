// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope-engine/commands/bench.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <thread>

#include "app/command_line/columns.h"
#include "app/command_line/command.h"
#include "app/ringscope-engine/commands/named_option.h"
#include "engine/attend/attend.h"
#include "engine/gpu/gpu.h"
#include "engine/kernels/block_attention.h"
#include "engine/transport/transport.h"
#include "traces/format/core/clock.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/names.h"
#include "traces/plan/balance.h"

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

engine::AttendInput randomInput(const BenchOptions& o, std::int64_t length, std::int64_t heads) {
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
  config.balance = traces::defaultCausalBalance();
  config.capture = "none";
  config.repeat = repeat;
  config.track_memory = true;
  return config;
}

/// Returns median seconds of forward and backward on one GPU, or on one device that uses all cores.
/// The first round is left out.
std::pair<double, double> unsharded(engine::AttendInput in, const BenchOptions& o) {
  for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.dout})
    *t = t->to(at::Device(traces::name(o.device)));
  auto whole = [&](auto work) {
    return seconds([&] {
      work();
      if (in.q.is_cuda()) engine::gpu::synchronize();
    });
  };
  engine::DeviceAttention device(in.mask, {in.scale});
  std::vector<double> forward, backward;
  for (int round = 0; round <= o.rounds; ++round) {
    engine::AttentionResult result;
    const double f =
        whole([&] { result = device.forward(in.q, in.k, in.v, traces::Layer::of(0)); });
    const double b =
        whole([&] { device.backward(in.dout, in.q, in.k, in.v, result, traces::Layer::of(0)); });
    if (round == 0) continue;
    forward.push_back(f);
    backward.push_back(b);
  }
  return {median(forward), median(backward)};
}

/// Compares all strategies with unsharded flash attention on the same cores or the same GPU.
nlohmann::json benchAttention(const BenchOptions& o) {
  engine::checkTransport(traces::TransportKind::kLocal, o.device, o.cp);
  const auto in = randomInput(o, o.length, o.heads);
  const auto [whole_forward, whole_backward] = unsharded(in, o);
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t s = 0; s < traces::kValueCount<traces::Strategy>; ++s) {
    engine::AttendConfig config = configOf(o.cp, o.rounds + 1);
    config.strategy = static_cast<traces::Strategy>(s);
    config.device = o.device;
    engine::Gate gate(o.cp);
    nlohmann::json row = {{"strategy", traces::name(config.strategy)}};
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

/// Returns the slope of log y over log x: 1 means linear growth, −1 means a decrease as 1 / x.
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

/// Measures peak bytes per rank in forward: over lengths at this cp, and over ranks at this length.
nlohmann::json benchMemory(const BenchOptions& o) {
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

/// Formats a time or a size as a table cell.
std::string timeCell(const nlohmann::json& seconds) {
  return alignRight(traces::describeSeconds(seconds.get<double>()), 10);
}
std::string sizeCell(const nlohmann::json& bytes) {
  return alignRight(traces::describeBytes(bytes.get<std::int64_t>()), 11);
}

void printAttention(const nlohmann::json& r) {
  std::cout << "causal, head_tail, cp " << r["cp"] << ", length " << r["length"]
            << (r["virtual_ranks_share_cores"]
                    ? "; virtual ranks share cores: waits are the scheduler's\n"
                    : "\n")
            << "strategy       forward            backward           waits       sent       peak\n"
            << std::fixed << std::setprecision(2);
  const auto& u = r["unsharded"];
  std::cout << alignLeft("unsharded", 12) << timeCell(u["forward_seconds"]) << alignLeft("", 8)
            << timeCell(u["backward_seconds"]) << "\n";
  for (const auto& row : r["rows"]) {
    std::cout << alignLeft(row["strategy"].get<std::string>(), 12);
    if (row.contains("refused")) {
      std::cout << "  " << row["refused"].get<std::string>() << "\n";
      continue;
    }
    std::cout << timeCell(row["forward_seconds"]) << std::setw(7)
              << row["forward_of_unsharded"].get<double>() << "×"
              << timeCell(row["backward_seconds"]) << std::setw(7)
              << row["backward_of_unsharded"].get<double>() << "×" << timeCell(row["wait_seconds"])
              << sizeCell(row["sent_bytes"]) << sizeCell(row["peak_bytes"]) << "\n";
  }
}

void printMemory(const nlohmann::json& r) {
  const auto print = [](const nlohmann::json& cp, const nlohmann::json& length,
                        const nlohmann::json& bytes) {
    std::cout << "cp " << cp.get<int>() << ", "
              << traces::describeCount(length.get<std::int64_t>(), "token") << ": "
              << traces::describeBytes(bytes.get<std::int64_t>()) << " a rank\n";
  };
  for (const auto& row : r["by_length"]) print(r["cp"], row["length"], row["peak_bytes"]);
  for (const auto& row : r["by_ranks"]) print(row["cp"], r["length"], row["peak_bytes"]);
  std::cout << "slope over length " << traces::describeDecimals(r["slope_over_length"], 2)
            << " (linear: 1), over ranks " << traces::describeDecimals(r["slope_over_ranks"], 2)
            << " (1/P: -1)\n";
}

/// A benchmark by name. To add one, add a function above and a line to kBenches.
struct Bench {
  const char* name;
  nlohmann::json (*run)(const BenchOptions&);
  void (*print)(const nlohmann::json&);
};
constexpr Bench kBenches[] = {{"attention", benchAttention, printAttention},
                              {"memory", benchMemory, printMemory},
                              {"hop", benchHop, printHop},
                              {"observe", benchObserve, printObserve},
                              {"verdict", benchVerdict, printVerdict}};

int run(const BenchOptions& o) {
  const Bench& bench =
      traces::entryNamed("benchmark", o.name, kBenches, [](const Bench& b) { return b.name; });
  const auto report = bench.run(o);
  o.json ? void(std::cout << report.dump(2) << "\n") : bench.print(report);
  return kSuccess;
}

}  // namespace

void defineBench(CLI::App& command, int& exit_code) {
  auto o = std::make_shared<BenchOptions>();
  command
      .add_option("NAME", o->name,
                  "attention (all strategies and unsharded flash attention), memory (peak per rank "
                  "by length and ranks), hop (a KV block between two ranks, memcpy and plain "
                  "gloo), observe (the cost of recording a stage) or verdict (errors that --verify "
                  "misses, and correct runs that it rejects)")
      ->required();
  command.add_option("--cp", o->cp, "Number of ranks")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      .add_option(
          "--ranks", o->ranks,
          "The numbers of ranks that verdict chooses from, separated by commas (1,2,4,8,16)")
      ->delimiter(',')
      ->check(CLI::Range(1, 64));
  command.add_option("--length", o->length, "Number of tokens")
      ->check(CLI::Range(64, 1 << 24))
      ->capture_default_str();
  command.add_option("--batch", o->batch, "Number of sequences")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--heads", o->heads, "Number of query heads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--head-dim", o->width, "Head size")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--rounds", o->rounds, "Number of timed rounds")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      .add_option("--runs", o->runs, "Number of single-device runs with other tilings per verdict")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--seed", o->seed, "Seed of the random configurations")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  addNamed(command, "--device", o->device, "The device: cpu, or cuda for one GPU");
  command.add_flag("--json", o->json, "Print the report as JSON");
  command.callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace ringscope::app

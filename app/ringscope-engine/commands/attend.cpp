// SPDX-License-Identifier: Apache-2.0
#include "engine/attend/attend.h"

#include <algorithm>
#include <iostream>
#include <thread>

#include "app/ringscope-engine/commands/attention_options.h"
#include "app/ringscope-engine/commands/seed_number.h"
#include "app/ringscope-engine/rank_processes.h"
#include "app/ringscope-engine/recording.h"
#include "app/ringscope-engine/stop_on_signal.h"
#include "engine/mistakes/registry.h"
#include "engine/observe/capture_policy.h"
#include "engine/tensors/tensor_io.h"
#include "engine/transport/rank_environment.h"
#include "traces/core/error.h"
#include "traces/core/output_file.h"
#include "traces/core/prose.h"
#include "traces/diff/summary.h"

namespace ringscope::app {
namespace {

struct Options : AttentionOptions {
  std::string input, output;
  engine::AttendConfig config;
  std::vector<std::string> mistakes;
};

nlohmann::json report(const engine::AttendOutcome& outcome,
                      const std::vector<traces::DiffRecord>& diffs, const Options& o) {
  // Waits of virtual ranks that share cores or a GPU are the scheduler's, not a cluster's.
  const bool shared = o.config.device == traces::Device::kCuda
                          ? o.config.transport == traces::TransportKind::kLocal
                          : o.config.cp > static_cast<int>(std::thread::hardware_concurrency());
  nlohmann::json json = {{"virtual_ranks_share_device", shared},
                         {"forward_seconds", outcome.forward_seconds.front()},
                         {"backward_seconds", outcome.backward_seconds.front()},
                         {"work", outcome.work},
                         {"peak_bytes", outcome.peak_bytes},
                         {"hops", nlohmann::json::array()}};
  for (const auto& h : outcome.hops)
    json["hops"].push_back({{"kv_forward", h.kv_forward},
                            {"kv_backward", h.kv_backward},
                            {"dkv_backward", h.dkv_backward},
                            {"heads_forward", h.heads_forward},
                            {"heads_backward", h.heads_backward},
                            {"wait_seconds", static_cast<double>(h.wait_ns) * 1e-9},
                            {"bytes_forward", h.bytes_forward},
                            {"bytes_backward", h.bytes_backward}});
  for (const auto& diff : diffs)
    json["errors"][diff.tensor] = {{"max_abs", diff.largest},
                                   {"error", diff.error},
                                   {"limit", diff.limit},
                                   {"ratio", diff.ratio}};
  return json;
}

void printText(const nlohmann::json& r, const Options& o) {
  std::cout << "forward " << traces::describeSeconds(r["forward_seconds"]) << ", backward "
            << traces::describeSeconds(r["backward_seconds"]) << "\n";
  for (std::size_t rank = 0; rank < r["hops"].size(); ++rank) {
    const auto& h = r["hops"][rank];
    std::cout << "rank " << rank << ": "
              << traces::describeCount(r["work"][rank].get<std::int64_t>(), "pair")
              << "; hops forward KV " << h["kv_forward"] << ", backward KV " << h["kv_backward"]
              << ", dKV " << h["dkv_backward"];
    if (const int heads = h["heads_forward"].get<int>() + h["heads_backward"].get<int>())
      std::cout << ", heads " << heads;
    std::cout << "; "
              << traces::describeBytes(h["bytes_forward"].get<std::int64_t>() +
                                       h["bytes_backward"].get<std::int64_t>())
              << "\n";
  }
  if (r.contains("errors"))
    for (const auto& [tensor, e] : r["errors"].items())
      std::cout << tensor << ": error "
                << traces::describeSignificant(e["max_abs"].get<double>(), 3) << ", "
                << traces::describeMultiple(e["ratio"].get<double>()) << " its limit\n";
  if (!o.output.empty()) std::cout << "written: " << o.output << "\n";
}

int run(Options& o) {
  engine::AttendConfig& config = o.config;
  o.finish(config);
  config.timeout = std::chrono::seconds(o.timeout_seconds);
  config.track_memory = true;
  traces::checkOutputs({{"INPUT", o.input}}, {{"--output", o.output}, {"--trace", o.trace}});
  if (config.verify && config.dropout > 0)
    throw usageError(
        "--verify compares with unsharded attention, which drops other pairs than --dropout; leave "
        "one out");
  for (const auto& mistake : o.mistakes) engine::inject(mistake, config.seams);
  const std::string sealed =
      nlohmann::json({{"command_line", commandLine()}, {"mistakes", o.mistakes}}).dump();
  if (config.launch == traces::Launch::kProcesses)
    return runRankProcesses(
        {config.cp, std::chrono::seconds(o.timeout_seconds), o.trace, false, sealed});
  const bool from_environment = config.fromEnvironment();
  const auto rank = from_environment
                        ? engine::RankEnvironment::read(engine::Mesh{1, 1, config.cp}).rank
                        : traces::WorldRank::of(0);
  const bool first = rank == traces::WorldRank::of(0);
  const auto input = engine::AttendInput::load(o.input, o.mask, config.window);
  engine::CapturePolicy::parse(config.capture);
  auto gate = from_environment ? engine::Gate::inheritedOr(config.cp) : engine::Gate(config.cp);
  StopOnSignal stop(gate);
  // Under torchrun every rank process writes a file of its own.
  const std::string trace =
      from_environment && !o.trace.empty() ? o.trace + "." + toString(rank) : o.trace;
  Recording recording(config.cp, trace, false, gate);
  recording.seal(sealed);
  std::vector<traces::DiffRecord> diffs;
  engine::AttendOutcome outcome;
  try {
    outcome = engine::attend(input, config, gate, recording.recorder());
    if (config.verify && first) diffs = engine::verifyAttend(input, outcome, config.fp8);
    if (recording.recorder() && !diffs.empty()) recording.recorder()->diffs(diffs);
  } catch (const Error& error) {
    recording.finish(error.what(), false);
    throw;
  }
  recording.finish("", false);
  if (!first) return kSuccess;
  engine::saveTensors(o.output, outcome.tensors);
  const auto json = report(outcome, diffs, o);
  o.json ? void(std::cout << json.dump(2) << "\n") : printText(json, o);
  return std::ranges::any_of(diffs, traces::diverges) ? kAnswerIsNo : kSuccess;
}

}  // namespace

void defineAttend(CLI::App& command, int& exit_code) {
  auto options = std::make_shared<Options>();
  command.add_option("INPUT", options->input, "safetensors with q, k, v, dout")->required();
  command.add_option("-o,--output", options->output, "safetensors for out, lse, dq, dk, dv")
      ->required();
  options->addTo(command, options->config);
  command.add_flag("--pad", options->config.pad,
                   "Pad the sequence, or each document, to what the balance needs");
  command
      .add_option("--dropout", options->config.dropout,
                  "Chance that a pair of query and key is dropped (by plain matrix products: no "
                  "fused CPU kernel offers it)")
      ->check(CLI::Range(0.0, 0.99));
  command.add_option("--seed", options->config.seed, "Random state of --dropout")
      ->check(seedNumber());
  command.add_option("--mistake", options->mistakes, "Inject a mistake of the catalogue");
  command.callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ringscope::app

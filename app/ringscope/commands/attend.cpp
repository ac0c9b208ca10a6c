// SPDX-License-Identifier: Apache-2.0
#include "engine/attend/attend.h"

#include <iostream>
#include <thread>

#include "app/ringscope/commands/attention_options.h"
#include "app/ringscope/rank_processes.h"
#include "app/ringscope/recording.h"
#include "app/ringscope/stop_on_signal.h"
#include "engine/observe/capture_policy.h"
#include "engine/tensors/tensor_io.h"
#include "engine/transport/rank_environment.h"
#include "traces/core/error.h"
#include "traces/diff/summary.h"

namespace ringscope::app {
namespace {

struct Options : AttentionOptions {
  std::string input, output;
  bool pad = false;
  engine::Dropout dropout;
};

nlohmann::json report(const engine::AttendOutcome& outcome,
                      const std::vector<traces::DiffRecord>& diffs, const Options& o) {
  // Waits of virtual ranks that share cores or a GPU are the scheduler's, not a cluster's.
  const bool shared = o.device == "cuda"
                          ? o.transport == "local"
                          : o.cp > static_cast<int>(std::thread::hardware_concurrency());
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
    json["errors"][diff.tensor] = {
        {"max_abs", diff.error}, {"noise", diff.noise}, {"multiple", diff.multiple}};
  return json;
}

void printText(const nlohmann::json& r, const Options& o) {
  std::cout << "forward " << r["forward_seconds"].get<double>() * 1e3 << " ms, backward "
            << r["backward_seconds"].get<double>() * 1e3 << " ms\n";
  for (std::size_t rank = 0; rank < r["hops"].size(); ++rank) {
    const auto& h = r["hops"][rank];
    std::cout << "rank " << rank << ": " << r["work"][rank] << " pairs; hops forward KV "
              << h["kv_forward"] << ", backward KV " << h["kv_backward"] << ", dKV "
              << h["dkv_backward"];
    if (const int heads = h["heads_forward"].get<int>() + h["heads_backward"].get<int>())
      std::cout << ", heads " << heads;
    std::cout << "; "
              << h["bytes_forward"].get<std::int64_t>() + h["bytes_backward"].get<std::int64_t>()
              << " bytes\n";
  }
  if (r.contains("errors"))
    for (const auto& [tensor, e] : r["errors"].items())
      std::cout << tensor << ": error " << e["max_abs"] << ", "
                << traces::describeMultiple(e["multiple"].get<double>()) << " one device's own\n";
  if (!o.output.empty()) std::cout << "written: " << o.output << "\n";
}

int run(Options& o) {
  o.chooseTransport();
  if (o.verify && o.dropout.p > 0)
    throw usageError(
        "--verify compares with unsharded attention, which drops other pairs than --dropout; leave "
        "one out");
  if (o.launch == "processes")
    return runRankProcesses(
        {o.cp, o.cp, std::chrono::seconds(o.timeout_seconds), o.trace, false, "{}"});
  const bool from_environment = o.launch == "env";
  const int rank =
      from_environment ? engine::RankEnvironment::read(engine::Mesh{1, 1, o.cp}).rank : 0;
  const auto input = engine::AttendInput::load(o.input, o.mask, o.window);
  engine::CapturePolicy::parse(o.capture);
  auto gate = from_environment ? engine::Gate::inheritedOr(o.cp) : engine::Gate(o.cp);
  StopOnSignal stop(gate);
  // Under torchrun every rank process writes a file of its own.
  const std::string trace =
      from_environment && !o.trace.empty() ? o.trace + "." + std::to_string(rank) : o.trace;
  Recording recording(o.cp, trace, false, gate);
  std::vector<traces::DiffRecord> diffs;
  engine::AttendOutcome outcome;
  try {
    engine::AttendConfig config{o.cp, o.balance, o.capture, 1, o.attention, o.pad};
    config.track_memory = true;
    config.transport = o.transport;
    config.timeout = std::chrono::seconds(o.timeout_seconds);
    config.device = o.device;
    config.dropout = o.dropout;
    config.from_environment = from_environment;
    outcome = engine::attend(input, config, gate, recording.recorder());
    if (o.verify && rank == 0) diffs = engine::verifyAttend(input, outcome, o.attention.fp8);
    if (recording.recorder() && !diffs.empty()) recording.recorder()->diffs(diffs);
  } catch (const Error& error) {
    recording.finish(error.what(), false);
    throw;
  }
  recording.finish("", false);
  if (rank != 0) return kSuccess;
  engine::saveTensors(o.output, outcome.tensors);
  const auto json = report(outcome, diffs, o);
  o.json ? void(std::cout << json.dump(2) << "\n") : printText(json, o);
  for (const auto& diff : diffs)
    if (!(diff.multiple <= traces::kNoiseLimit)) return kAnswerIsNo;
  return kSuccess;
}

}  // namespace

void addAttend(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("attend", "One attention forward and backward under context parallelism");
  auto options = std::make_shared<Options>();
  command->add_option("INPUT", options->input, "safetensors with q, k, v, dout")->required();
  command->add_option("-o,--output", options->output, "safetensors for out, lse, dq, dk, dv")
      ->required();
  options->addTo(*command);
  command->add_flag("--pad", options->pad,
                    "Pad the sequence, or each document, to what the balance needs");
  command
      ->add_option("--dropout", options->dropout.p,
                   "Chance that a pair of query and key is dropped (by plain matrix products: no "
                   "fused CPU kernel offers it)")
      ->check(CLI::Range(0.0, 0.99));
  command->add_option("--seed", options->dropout.seed, "Random state of --dropout");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ringscope::app

// SPDX-License-Identifier: Apache-2.0
#include "engine/attend/attend.h"

#include <algorithm>
#include <fstream>
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
#include "traces/analysis/diff/summary.h"
#include "traces/format/core/error.h"
#include "traces/format/core/output_file.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"

namespace ringscope::app {
namespace {

struct AttendOptions : AttentionOptions {
  std::string input, output;
  std::string random;  ///< the shape of a random input; empty: INPUT is read
  std::optional<traces::DType> dtype;
  engine::AttendConfig config;
  std::vector<std::string> mistakes;
};

nlohmann::json report(const engine::AttendOutcome& outcome,
                      const std::vector<traces::DiffRecord>& diffs, const AttendOptions& o) {
  // If virtual ranks share cores or a GPU, their waits come from the scheduler, not from a cluster.
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
  if (!o.random.empty()) json["random"] = o.random;
  if (!outcome.unseen_mistakes.empty()) json["changed_nothing"] = outcome.unseen_mistakes;
  for (const auto& diff : diffs)
    json["errors"][diff.tensor] = {{"max_abs", diff.largest},
                                   {"error", diff.error},
                                   {"limit", diff.limit},
                                   {"ratio", diff.ratio},
                                   {"quantisation", traces::toJson(diff.quantisation)}};
  return json;
}

/// Describes the tolerance of PyTorch's tutorial, whose example --random repeats.
std::string tutorialTolerance(const engine::AttendConfig& config) {
  if (config.dtype == traces::DType::kFloat32)
    return "PyTorch's tutorial compares out with unsharded float32, and tolerates 1e-8 beside 1e-5 "
           "of "
           "each value";
  return std::string("PyTorch's tutorial compares out with unsharded ") +
         traces::name(config.dtype) + ", and tolerates 1e-3 × " +
         traces::describeCount(config.cp, "rank") + " = " +
         traces::describeSignificant(1e-3 * config.cp, 3);
}

void printText(const nlohmann::json& r, const AttendOptions& o) {
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
      std::cout << tensor << ": largest error "
                << traces::describeSignificant(e["max_abs"].get<double>(), 3)
                << "; the row nearest its limit is off by "
                << traces::describeSignificant(e["error"].get<double>(), 3) << " where "
                << traces::describeSignificant(e["limit"].get<double>(), 3) << " is tolerated, "
                << traces::describeMultiple(e["ratio"].get<double>()) << " its limit"
                << (e["quantisation"].is_null()
                        ? ""
                        : ". " + traces::describeQuantisation(e["quantisation"].get<double>()))
                << "\n";
  if (r.contains("errors") && !o.random.empty()) std::cout << tutorialTolerance(o.config) << "\n";
  if (r.contains("changed_nothing"))
    for (const auto& sentence : r["changed_nothing"])
      std::cout << sentence.get<std::string>() << "\n";
  if (!o.output.empty()) std::cout << "written: " << o.output << "\n";
}

/// Throws usageError for options that exclude each other.
void checkInput(const AttendOptions& o) {
  if (o.input.empty() == o.random.empty())
    throw usageError(o.input.empty()
                         ? "there is nothing to attend; give INPUT or --random B,H,S,D"
                         : "INPUT and --random both say what is attended; leave one out");
  if (!o.random.empty()) engine::RandomShape::parse(o.random);
  if (o.random.empty() && o.output.empty())
    throw usageError("--output is required; without it the results of INPUT would be lost");
  if (o.random.empty() && o.dtype)
    throw usageError("--dtype is the type of --random; INPUT has one of its own");
}

engine::AttendInput inputOf(const AttendOptions& o) {
  if (o.random.empty()) return engine::AttendInput::load(o.input, o.mask, o.config.window);
  return engine::AttendInput::random(engine::RandomShape::parse(o.random), o.config.dtype,
                                     o.config.seed, o.mask, o.config.window);
}

/// Describes the random input for the recording.
std::string describeMade(const engine::AttendInput& in, const AttendOptions& o) {
  return nlohmann::json({{"made", "standard normal"},
                         {"q", in.q.sizes().vec()},
                         {"k", in.k.sizes().vec()},
                         {"dtype", traces::name(o.config.dtype)},
                         {"seed", o.config.seed}})
      .dump();
}

int run(AttendOptions& o) {
  engine::AttendConfig& config = o.config;
  o.finish(config);
  config.timeout = std::chrono::seconds(o.timeout_seconds);
  config.track_memory = true;
  checkInput(o);
  config.dtype = o.dtype.value_or(config.dtype);
  traces::checkOutputs({{"INPUT", o.input}}, {{"--output", o.output}, {"--trace", o.trace}});
  o.checkTrace(config);
  if (config.verify && config.dropout > 0)
    throw usageError(
        "--verify compares with unsharded attention, which drops no pairs as --dropout does; leave "
        "one out");
  traces::RunSpec one_attention = config;
  one_attention.command = traces::Command::kAttend;
  for (auto& mistake : o.mistakes) {
    mistake = engine::placed(mistake, one_attention);
    engine::inject(mistake, config.seams);
  }
  const std::string sealed =
      nlohmann::json({{"command_line", commandLine()}, {"mistakes", o.mistakes}}).dump();
  if (config.launch == traces::Launch::kProcesses) {
    if (!o.mistakes.empty())
      engine::checkAttend(inputOf(o), config);  // otherwise each rank would report the error
    return runRankProcesses(
        {config.cp, std::chrono::seconds(o.timeout_seconds), o.trace, false, sealed});
  }
  const bool from_environment = config.fromEnvironment();
  const auto rank = from_environment
                        ? engine::RankEnvironment::read(engine::Mesh{1, 1, config.cp}).rank
                        : traces::WorldRank::of(0);
  const bool first = rank == traces::WorldRank::of(0);
  const auto input = inputOf(o);
  engine::CapturePolicy::parse(config.capture);
  auto gate = from_environment ? engine::Gate::inheritedOr(config.cp) : engine::Gate(config.cp);
  StopOnSignal stop(gate);
  // Under torchrun every rank process writes its own file.
  const std::string trace =
      from_environment && !o.trace.empty() ? o.trace + "." + toString(rank) : o.trace;
  Recording recording(config.cp, trace, false, gate);
  recording.seal(sealed);
  if (recording.recorder() && first && !o.random.empty())
    recording.recorder()->note("input", describeMade(input, o));
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
  if (!o.output.empty()) engine::saveTensors(o.output, outcome.tensors);
  const auto json = report(outcome, diffs, o);
  o.json ? void(std::cout << json.dump(2) << "\n") : printText(json, o);
  return std::ranges::any_of(diffs, traces::diverges) ? kAnswerIsNo : kSuccess;
}

}  // namespace

std::string commandLine() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::replace(text.begin(), text.end(), '\0', ' ');
  return traces::toUtf8(text);
}

void defineAttend(CLI::App& command, int& exit_code) {
  auto options = std::make_shared<AttendOptions>();
  command.add_option("INPUT", options->input, "A safetensors file with q, k, v and dout");
  command.add_option("--random", options->random,
                     "B,H,S,D or B,H,S,D,Hkv: use random normal q, k, v and dout of this shape "
                     "instead of INPUT; 8,8,64,32 is PyTorch's worked example");
  addNamed(command, "--dtype", options->dtype, "Type of the tensors of --random (default: float32)",
           {"float32", "float64", "bfloat16", "float16"});
  command.add_option("-o,--output", options->output,
                     "Write out, lse, dq, dk and dv to this safetensors file; required with INPUT");
  options->addTo(command, options->config);
  command.add_flag(
      "--pad", options->config.pad,
      "Pad the sequence, or each document, to a length that the balance can distribute");
  command
      .add_option("--dropout", options->config.dropout,
                  "Probability that a query-key pair is dropped. Uses plain matrix products, "
                  "because no fused CPU kernel supports dropout")
      ->check(CLI::Range(0.0, 0.99));
  command.add_option("--seed", options->config.seed, "Seed for --random and --dropout")
      ->check(seedNumber());
  command.add_option(
      "--mistake", options->mistakes,
      "Inject a mistake from `ringscope mistakes` on all ranks, or on one rank with ID:rank=R");
  command.callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ringscope::app

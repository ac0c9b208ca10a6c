// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line/command.h"
#include "app/ringscope-engine/commands/buffer_choice.h"
#include "app/ringscope-engine/commands/named_option.h"
#include "traces/format/core/error.h"
#include "traces/format/schema/run_spec.h"
#include "traces/format/storage/trace_path.h"

namespace ringscope::app {

/// The options that attend and train share. Most of them are settings of the run.
struct AttentionOptions {
  std::optional<traces::MaskKind> mask;            ///< nullopt: the default of the command or the
                                                   ///< input's mask
  std::optional<traces::TransportKind> transport;  ///< nullopt: the default of the launch
  std::vector<std::string> buffers;                ///< as given on the command line
  std::string trace;
  bool no_replace = false, json = false;
  int timeout_seconds = 60;

  /// Completes the settings that depend on several options and on the environment.
  void finish(traces::RunSpec& run) const {
    if (run.launch == traces::Launch::kEnv && cp_->count() == 0) run.cp = ranksLeft(run);
    const bool threads = run.launch == traces::Launch::kThreads;
    run.transport =
        transport.value_or(threads ? traces::TransportKind::kLocal : traces::TransportKind::kGloo);
    run.mask = mask.value_or(run.mask);
    run.buffers.clear();
    for (const std::string& buffer : buffers) run.buffers.push_back(bufferChoice(buffer));
  }

  /// Throws usageError if the run would replace a recording and --no-replace is given.
  void checkTrace(const traces::RunSpec& run) const {
    const char* rank = run.launch == traces::Launch::kEnv ? std::getenv("RANK") : nullptr;
    const std::string file = rank ? trace + "." + rank : trace;
    if (no_replace && traces::holdsTrace(file))
      throw usageError(file + " holds an earlier recording, and --no-replace keeps it; choose " +
                       "another name for --trace");
  }

  void addTo(CLI::App& command, traces::RunSpec& run) {
    addAttention(command, run);
    addRanks(command, run);
    auto* file = command.add_option("--trace", trace,
                                    "Record into this .rscope file, in place of an older recording "
                                    "there once the run has computed something");
    command.add_flag("--no-replace", no_replace, "Refuse to replace an older recording")
        ->needs(file);
    command
        .add_option("--capture", run.capture,
                    "What a recording keeps: none, stats, full or values:steps=A-B")
        ->capture_default_str();
    command.add_flag("--verify", run.verify, "Compare with unsharded attention in fp64");
    command.add_flag("--json", json, "Print the report as JSON");
  }

 private:
  /// Returns the number of cp ranks that dp and tp leave in a job of WORLD_SIZE ranks. Returns
  /// run.cp if WORLD_SIZE is missing or not divisible by dp × tp.
  static int ranksLeft(const traces::RunSpec& run) {
    const char* text = std::getenv("WORLD_SIZE");
    const int ranks = text ? std::atoi(text) : 0, others = run.dp * run.tp;
    return ranks > 0 && ranks % others == 0 ? ranks / others : run.cp;
  }

  void addAttention(CLI::App& command, traces::RunSpec& run) {
    cp_ = command
              .add_option("--cp", run.cp,
                          "Ranks that share a sequence (default: CP_SIZE, else 4; with --launch "
                          "env all that dp and tp leave of WORLD_SIZE)")
              ->envname("CP_SIZE")
              ->check(CLI::Range(1, 64))
              ->capture_default_str();
    addNamed(command, "--strategy", run.strategy, "How attention is shared");
    command
        .add_option("--ulysses", run.ulysses,
                    "Ranks that share heads, with --strategy hybrid (default: chosen)")
        ->check(CLI::Range(1, 64));
    addNamed(command, "--rotate", run.rotate, "How KV blocks travel round a ring");
    addNamed(command, "--order", run.order, "Which block backward begins with");
    command.add_flag("--fp8", run.fp8, "KV travels as e4m3 with a scale for each row");
    addNamed(command, "--kernel", run.kernel,
             "What attends a block: ATen's flash or memory-efficient operator, or plain products");
    addNamed(command, "--p2p", run.p2p,
             "How a hop is posted: send and receive at once, or each by itself, even ranks sending "
             "first and odd ranks receiving first");
    command
        .add_option("--buffer", buffers,
                    "NAME:DIM[:restore]: a buffer that is cut along this dimension, and made whole "
                    "again after the step; once for each (default: all but freqs_cis)")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    addNamed(command, "--balance", run.balance,
             "How tokens are dealt (default: head_tail for causal masks)");
    addNamed(command, "--mask", mask, "Which keys a query sees");
    command.add_option("--window", run.window, "Keys seen to the left, the query's own included")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32));
  }
  void addRanks(CLI::App& command, traces::RunSpec& run) {
    addNamed(command, "--transport", transport,
             "What carries messages (default: local between threads, else gloo)");
    addNamed(command, "--launch", run.launch, "What a rank is");
    addNamed(command, "--device", run.device, "Where tensors are");
    command
        .add_option("--timeout", timeout_seconds,
                    "Seconds after which a rank that neither computes nor waits is called stuck")
        ->check(CLI::Range(1, 86'400))
        ->capture_default_str();
  }

  CLI::Option* cp_ = nullptr;
};

/// Returns the command line as one string for Recording::seal(), converted to UTF-8.
std::string commandLine();

}  // namespace ringscope::app

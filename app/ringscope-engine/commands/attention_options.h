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
    for (const std::string& buffer : buffers) run.buffers.push_back(parseBufferChoice(buffer));
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
                                    "Record to this .rscope file. Replaces an older recording once "
                                    "the run has computed something");
    command.add_flag("--no-replace", no_replace, "Fail instead of replacing an older recording")
        ->needs(file);
    command
        .add_option("--capture", run.capture,
                    "What the recording contains: none, stats, full or values:steps=A-B")
        ->capture_default_str();
    command.add_flag("--verify", run.verify, "Compare the run with unsharded attention in fp64");
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
                          "Number of ranks that share a sequence (default: CP_SIZE, otherwise 4; "
                          "with --launch env WORLD_SIZE / (dp × tp))")
              ->envname("CP_SIZE")
              ->check(CLI::Range(1, 64))
              ->capture_default_str();
    addNamed(command, "--strategy", run.strategy, "How ranks share attention");
    command
        .add_option("--ulysses", run.ulysses,
                    "Number of ranks that share heads, with --strategy hybrid (default: chosen by "
                    "the model's heads)")
        ->check(CLI::Range(1, 64));
    addNamed(command, "--rotate", run.rotate, "How KV blocks move around a ring");
    addNamed(command, "--order", run.order, "The block with which backward begins");
    command.add_flag("--fp8", run.fp8, "Send KV as FP8 (e4m3) with one scale per row");
    addNamed(command, "--kernel", run.kernel,
             "The kernel that attends a block: ATen's flash or memory-efficient operator, or plain "
             "matrix products (math)");
    addNamed(command, "--p2p", run.p2p,
             "How a hop is posted: batched posts send and receive together; ordered posts them one "
             "after the other, and odd ranks receive first");
    command
        .add_option("--buffer", buffers,
                    "NAME:DIM[:restore]: shard this buffer along this dimension, and restore it "
                    "after the step. Repeatable (default: all buffers except freqs_cis)")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    addNamed(command, "--balance", run.balance,
             "How tokens are distributed over ranks (default: head_tail for causal masks)");
    addNamed(command, "--mask", mask, "The keys that a query attends");
    command
        .add_option("--window", run.window,
                    "Number of keys that a query attends, including its own, with --mask window")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32));
  }
  void addRanks(CLI::App& command, traces::RunSpec& run) {
    addNamed(command, "--transport", transport,
             "The transport of messages (default: local between threads, otherwise gloo)");
    addNamed(command, "--launch", run.launch,
             "Whether ranks are threads, processes, or given by the environment of torchrun (env)");
    addNamed(command, "--device", run.device, "The device that holds the tensors");
    command
        .add_option("--timeout", timeout_seconds,
                    "Seconds without progress after which a rank is reported as stuck")
        ->check(CLI::Range(1, 86'400))
        ->capture_default_str();
  }

  CLI::Option* cp_ = nullptr;
};

/// Returns the command line as one string for Recording::seal(), converted to UTF-8.
std::string commandLine();

}  // namespace ringscope::app

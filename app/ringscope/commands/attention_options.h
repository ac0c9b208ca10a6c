// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/ringscope/commands/command.h"
#include "engine/attention/strategies/registry.h"

namespace ringscope::app {

/// The options that attend and train share. Values that are not built yet are refused by name.
struct AttentionOptions {
  int cp = 4;
  std::int64_t window = 0;
  std::string balance, mask, capture = "values:steps=0", trace;
  std::string transport, launch = "threads", device = "cpu";
  engine::StrategyConfig attention;
  bool verify = false, json = false;
  int timeout_seconds = 60;

  void chooseTransport() {
    if (transport.empty()) transport = launch == "threads" ? "local" : "gloo";
  }

  void addTo(CLI::App& command) {
    command.add_option("--cp", cp, "Ranks that share a sequence (default: CP_SIZE, else 4)")
        ->envname("CP_SIZE")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    std::vector<std::string> names;
    for (const auto& entry : engine::strategies()) names.push_back(entry.name);
    command.add_option("--strategy", attention.strategy, "How attention is shared")
        ->check(CLI::IsMember(names))
        ->capture_default_str();
    command
        .add_option("--ulysses", attention.ulysses,
                    "Ranks that share heads, with --strategy hybrid (default: chosen)")
        ->check(CLI::Range(1, 64));
    command.add_option("--rotate", attention.rotate, "How KV blocks travel round a ring")
        ->check(CLI::IsMember({"p2p", "allgather", "alltoall"}))
        ->capture_default_str();
    command.add_option("--order", attention.order, "Which block backward begins with")
        ->check(CLI::IsMember({"diagonal_first", "diagonal_last"}))
        ->capture_default_str();
    command.add_flag("--fp8", attention.fp8, "KV travels as e4m3 with a scale for each row");
    command
        .add_option("--balance", balance,
                    "How tokens are dealt (default: head_tail for causal masks)")
        ->check(CLI::IsMember({"none", "head_tail", "striped", "per_document"}));
    command.add_option("--mask", mask, "Which keys a query sees")
        ->check(CLI::IsMember({"full", "causal", "window", "documents"}));
    command.add_option("--window", window, "Keys seen to the left, the query's own included")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32));
    command
        .add_option("--transport", transport,
                    "What carries messages (default: local between threads, else gloo)")
        ->check(CLI::IsMember({"local", "gloo", "nccl"}));
    command.add_option("--launch", launch, "What a rank is")
        ->check(CLI::IsMember({"threads", "processes", "env"}))
        ->capture_default_str();
    command.add_option("--device", device, "Where tensors are")
        ->check(CLI::IsMember({"cpu", "cuda"}))
        ->capture_default_str();
    command
        .add_option("--timeout", timeout_seconds,
                    "Seconds after which a rank that neither computes nor waits is called stuck")
        ->check(CLI::Range(1, 86'400))
        ->capture_default_str();
    command.add_option("--trace", trace, "Record into this .rscope file");
    command
        .add_option("--capture", capture,
                    "What a recording keeps: none, stats, full or values:steps=A-B")
        ->capture_default_str();
    command.add_flag("--verify", verify, "Compare with unsharded attention in fp64");
    command.add_flag("--json", json, "Print the report as JSON");
  }
};

/// The command line in one string, to be sealed.
std::string commandLine();

}  // namespace ringscope::app

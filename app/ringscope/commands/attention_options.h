// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/ringscope/commands/command.h"

namespace ringscope::app {

/// The options that attend and train share. Values that are not built yet are refused by name.
struct AttentionOptions {
  int cp = 4;
  std::string balance, mask, capture = "values:steps=0", trace;
  std::string strategy = "ring", rotate = "p2p", transport = "local", launch = "threads",
              device = "cpu";
  bool verify = false, json = false;

  void addTo(CLI::App& command) {
    command.add_option("--cp", cp, "Ranks that share a sequence")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    command.add_option("--strategy", strategy, "How attention is shared")
        ->check(CLI::IsMember({"ring"}))
        ->capture_default_str();
    command.add_option("--rotate", rotate, "How KV blocks travel")
        ->check(CLI::IsMember({"p2p"}))
        ->capture_default_str();
    command
        .add_option("--balance", balance,
                    "How tokens are dealt (default: head_tail for causal masks)")
        ->check(CLI::IsMember({"none", "head_tail"}));
    command.add_option("--mask", mask, "Which keys a query sees")
        ->check(CLI::IsMember({"full", "causal"}));
    command.add_option("--transport", transport, "What carries messages")
        ->check(CLI::IsMember({"local"}))
        ->capture_default_str();
    command.add_option("--launch", launch, "What a rank is")
        ->check(CLI::IsMember({"threads"}))
        ->capture_default_str();
    command.add_option("--device", device, "Where tensors are")
        ->check(CLI::IsMember({"cpu"}))
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

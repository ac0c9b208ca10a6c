// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "tests/facts/drawing.h"
#include "tests/support/run_program.h"
#include "traces/exchange/import/open_trace.h"

namespace ringscope::facts {
namespace {

std::string argumentsOf(const engine::TrainConfig& c, const std::string& trace) {
  const auto option = [](const char* name, const auto& value) {
    return std::string(" --") + name + " " + value;
  };
  std::string words =
      "train --launch processes" + option("model", c.model_dir) + option("tokens", c.tokens) +
      option("trace", trace) + option("steps", std::to_string(c.steps)) +
      option("dp", std::to_string(c.dp)) + option("tp", std::to_string(c.tp)) +
      option("cp", std::to_string(c.cp)) + option("strategy", traces::name(c.strategy)) +
      option("rotate", traces::name(c.rotate)) + option("order", traces::name(c.order)) +
      option("balance", traces::name(*c.balance)) + option("mask", traces::name(c.mask)) +
      option("dtype", traces::name(c.dtype)) + option("capture", c.capture);
  if (c.ulysses > 0) words += option("ulysses", std::to_string(c.ulysses));
  if (c.window > 0) words += option("window", std::to_string(c.window));
  if (c.verify) words += " --verify";
  for (const std::string& mistake : c.mistakes) words += option("mistake", mistake);
  return words;
}

}  // namespace

void recordOverProcesses(Case& c, const engine::TrainConfig& config) {
  const std::string path = c.folder->file("joined.rscope");
  const test::Result result = test::ringscope(argumentsOf(config, path));
  const bool diverges = result.code == 1 && config.verify;  // it has a mistake in it
  if (result.code != 0 && !diverges) throw std::runtime_error(c.text + ": " + result.err);
  c.trace = traces::openTrace(path);
}

}  // namespace ringscope::facts

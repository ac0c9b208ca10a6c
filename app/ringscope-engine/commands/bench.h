// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "traces/format/schema/run_spec.h"

namespace ringscope::app {

/// What the benchmarks are asked; each uses what it needs.
struct BenchOptions {
  std::string name;
  int cp = 4, heads = 8, width = 64, rounds = 5, runs = 20;
  std::vector<int> ranks;  ///< from which verdict draws cp; empty: its defaults
  std::int64_t length = 4096, batch = 1, seed = 1;
  traces::Device device = traces::Device::kCpu;
  bool json = false;
};

double median(std::vector<double> values);
double seconds(const std::function<void()>& work);

/// One hop of a KV block between two ranks: `local` beside memcpy, gloo beside c10d's own send and
/// receive without anything of ours.
nlohmann::json benchHop(const BenchOptions& o);
void printHop(const nlohmann::json& report);

/// What one stage costs: its NVTX range with nothing attached, and with it its event.
nlohmann::json benchObserve(const BenchOptions& o);
void printObserve(const nlohmann::json& report);

/// Rows that are altered and not seen, right runs that are accused, and how near the limits of
/// `--verify` are to what one device's errors are; `rounds` random configurations of each type, of
/// at most `length` tokens, each beside `runs` tilings of one device. cp is drawn from `ranks`;
/// without them attention draws from 2 to 16 ranks, and gradients are those of one rank.
nlohmann::json benchVerdict(const BenchOptions& o);
void printVerdict(const nlohmann::json& report);

}  // namespace ringscope::app

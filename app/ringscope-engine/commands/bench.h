// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "traces/format/schema/run_spec.h"

namespace ringscope::app {

/// The options of the benchmarks. Each benchmark uses the options that it needs.
struct BenchOptions {
  std::string name;
  int cp = 4, heads = 8, width = 64, rounds = 5, runs = 20;
  std::vector<int> ranks;  ///< the numbers of ranks that the verdict benchmark draws cp from;
                           ///< empty: its defaults
  std::int64_t length = 4096, batch = 1, seed = 1;
  traces::Device device = traces::Device::kCpu;
  bool json = false;
};

double median(std::vector<double> values);
double seconds(const std::function<void()>& work);

/// Measures one hop of a KV block between two ranks. `local` is compared with memcpy, and gloo with
/// c10d's own send and receive without RingScope's code.
nlohmann::json benchHop(const BenchOptions& o);
void printHop(const nlohmann::json& report);

/// Measures the cost of observing one stage: its NVTX range without a profiler attached, and the
/// range with its event.
nlohmann::json benchObserve(const BenchOptions& o);
void printObserve(const nlohmann::json& report);

/// Measures how well the verdicts of `--verify` and of `verify` work. Reports altered rows that
/// they miss, correct runs that they accuse, and the ratio of their limits to one device's errors.
/// Draws `rounds` random configurations per type, of at most `length` tokens, and compares each
/// with `runs` tilings on one device. cp is drawn from `ranks`. If `ranks` is empty, attention
/// draws from 2 to 16 ranks, and gradients are computed by one rank.
nlohmann::json benchVerdict(const BenchOptions& o);
void printVerdict(const nlohmann::json& report);

}  // namespace ringscope::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ringscope::test {

/// Returns a dump of the Flight Recorder of one rank of 2. Call i of all_reduce over NCCL is posted
/// i milliseconds after `start_ns` and takes 300 µs.
inline std::string flightDump(std::int64_t start_ns, int calls) {
  std::vector<nlohmann::json> entries;
  for (int i = 1; i <= calls; ++i) {
    const std::int64_t created = start_ns + std::int64_t{i} * 1'000'000;
    entries.push_back({{"profiling_name", "nccl:all_reduce"},
                       {"process_group", {"0", "default_pg"}},
                       {"collective_seq_id", i},
                       {"p2p_seq_id", 0},
                       {"is_p2p", false},
                       {"input_sizes", {{8, 4}}},
                       {"input_dtypes", {"Float"}},
                       {"output_sizes", {{8, 4}}},
                       {"output_dtypes", {"Float"}},
                       {"time_created_ns", created},
                       {"time_discovered_started_ns", created + 1000},
                       {"time_discovered_completed_ns", created + 300'000},
                       {"state", "completed"},
                       {"retired", true}});
  }
  const nlohmann::json groups = {
      {"0", {{"name", "0"}, {"desc", "default_pg"}, {"ranks", "[0, 1]"}}}};
  return nlohmann::json{{"comm_lib_version", "2.27.5"},
                        {"version", "2.10"},
                        {"pg_config", groups},
                        {"entries", entries}}
      .dump();
}

}  // namespace ringscope::test

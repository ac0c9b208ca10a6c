// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/clock/timeline.h"
#include "traces/format/schema/names.h"

namespace ringscope::traces {

/// The reason for the length of a stretch of the critical path.
enum class Limit : std::uint8_t {
  kLaunch = 0,  ///< kernels at their floor
  kCompute,     ///< floating-point operations
  kMemory,      ///< memory traffic
  kWork,        ///< recorded work, in which compute and memory are not told apart
  kLink,        ///< messages and collectives
  kCount
};
template <>
struct EnumNames<Limit> {
  static constexpr const char* kWhat = "limit";
  static constexpr std::array<const char*, 5> kNames = {"launch", "compute", "memory", "work",
                                                        "link"};
};

/// The critical path of a replay, divided by what limits it.
struct StepLimits {
  std::array<std::int64_t, kValueCount<Limit>> ns{};
  /// The part of the link's time that bandwidth does not shorten: latency and the transfer floor.
  std::int64_t link_fixed_ns = 0;

  std::int64_t of(Limit limit) const { return ns[static_cast<std::size_t>(limit)]; }
  std::int64_t total() const;
  double share(Limit limit) const;
  /// Returns the limit of more than half of the critical path, if there is one.
  std::optional<Limit> boundBy() const;
};
StepLimits stepLimits(const Program& program, const Hardware& hardware,
                      const ModelTimeline& timeline);

/// Returns the limits that take time, the longest first.
std::vector<Limit> longestFirst(const StepLimits& limits);
/// Returns "kernels at their floor", "compute", "the link".
const char* limitWords(Limit limit);
/// Returns "launch-bound", "mixed" or "nothing takes time".
std::string limitTitle(const StepLimits& limits);
/// Returns "launch-bound (81 % of the critical path)" or "bound by no single limit".
std::string limitVerdict(const StepLimits& limits);
/// Returns "Launch-bound: kernels at their floor take 81 % of the critical path, compute 12 %, the
/// link 7 %."
std::string describe(const StepLimits& limits);

}  // namespace ringscope::traces

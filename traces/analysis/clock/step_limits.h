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

/// The reason why a stretch of the critical path is not shorter.
enum class Limit : std::uint8_t {
  kLaunch = 0,  ///< kernels that take their floor
  kCompute,     ///< floating-point operations
  kMemory,      ///< memory traffic
  kWork,        ///< work by recorded times, which do not tell compute from memory
  kLink,        ///< messages and collectives
  kCount
};
template <>
struct EnumNames<Limit> {
  static constexpr const char* kWhat = "limit";
  static constexpr std::array<const char*, 5> kNames = {"launch", "compute", "memory", "work",
                                                        "link"};
};

/// The critical path of a replay by what limits it. The one owner of "what determines the result".
struct StepLimits {
  std::array<std::int64_t, kValueCount<Limit>> ns{};
  /// Of the link's: latency and the floor of transfers, which more bandwidth does not shorten.
  std::int64_t link_fixed_ns = 0;

  std::int64_t of(Limit limit) const { return ns[static_cast<std::size_t>(limit)]; }
  std::int64_t total() const;
  double share(Limit limit) const;
  /// The limit of more than half of the critical path; nothing: there is none.
  std::optional<Limit> boundBy() const;
};
StepLimits stepLimits(const Program& program, const Hardware& hardware,
                      const ModelTimeline& timeline);

/// The limits that the critical path has, the longest first.
std::vector<Limit> longestFirst(const StepLimits& limits);
/// "kernels at their floor", "compute", "the link".
const char* limitWords(Limit limit);
/// "launch-bound", "mixed"; "nothing takes time".
std::string limitTitle(const StepLimits& limits);
/// "launch-bound (81 % of the critical path)", "bound by no single limit".
std::string limitVerdict(const StepLimits& limits);
/// "Launch-bound: kernels at their floor take 81 % of the critical path, compute 12 %, the link
/// 7 %."
std::string describe(const StepLimits& limits);

}  // namespace ringscope::traces

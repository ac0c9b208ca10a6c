// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/step_limits.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "traces/analysis/clock/replay_times.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
const char* limitWords(Limit limit) {
  constexpr std::array<const char*, kValueCount<Limit>> kWords = {
      "kernels at their floor", "compute", "memory traffic", "recorded work", "the link"};
  return kWords[static_cast<std::size_t>(limit)];
}

std::vector<Limit> longestFirst(const StepLimits& limits) {
  std::vector<Limit> all;
  for (std::size_t i = 0; i < kValueCount<Limit>; ++i)
    if (limits.ns[i] > 0) all.push_back(static_cast<Limit>(i));
  std::ranges::stable_sort(all, std::greater(), [&](Limit limit) { return limits.of(limit); });
  return all;
}

std::int64_t StepLimits::total() const {
  return std::accumulate(ns.begin(), ns.end(), std::int64_t{0});
}

double StepLimits::share(Limit limit) const {
  const std::int64_t all = total();
  return all == 0 ? 0 : static_cast<double>(of(limit)) / static_cast<double>(all);
}

std::optional<Limit> StepLimits::boundBy() const {
  for (std::size_t i = 0; i < kValueCount<Limit>; ++i)
    if (2 * ns[i] > total()) return static_cast<Limit>(i);
  return std::nullopt;
}

StepLimits stepLimits(const Program& program, const Hardware& hardware,
                      const ModelTimeline& timeline) {
  StepLimits limits;
  const auto add = [&](Limit limit, std::int64_t ns) {
    limits.ns[static_cast<std::size_t>(limit)] += ns;
  };
  for (const CriticalPart& part : timeline.critical_path) {
    const Program::Op& op = program.ranks[part.rank.index()].ops[part.op];
    const std::int64_t ns = part.span.duration();
    if (part.kind == CriticalPart::Kind::kTransfer) {
      // The time on a free link; the rest of the transfer waits for bandwidth.
      const TransferTime alone = part.message == Program::kNone
                                     ? collectiveTime(program.collectives[op.subject], hardware)
                                     : messageTime(program.messages[part.message].bytes, hardware);
      add(Limit::kLink, ns);
      limits.link_fixed_ns += std::min(ns, alone.fixed_ns);
    } else if (static_cast<double>(kernelFloorNs(op, hardware)) >
               static_cast<double>(op.work_ns) / hardware.compute_scale) {
      add(Limit::kLaunch, ns);
    } else if (op.memory_share < 0) {
      add(Limit::kWork, ns);
    } else {
      const std::int64_t memory_ns = std::llround(static_cast<double>(ns) * op.memory_share);
      add(Limit::kMemory, memory_ns);
      add(Limit::kCompute, ns - memory_ns);
    }
  }
  return limits;
}

std::string limitTitle(const StepLimits& limits) {
  if (limits.total() == 0) return "nothing takes time";
  const auto bound = limits.boundBy();
  return bound ? std::string(name(*bound)) + "-bound" : "mixed";
}

std::string limitVerdict(const StepLimits& limits) {
  const auto bound = limits.boundBy();
  if (!bound) return limits.total() == 0 ? limitTitle(limits) : "bound by no single limit";
  return limitTitle(limits) + " (" + describeShare(limits.share(*bound)) + " of the critical path)";
}

std::string describe(const StepLimits& limits) {
  const auto longest = longestFirst(limits);
  if (longest.empty()) return "Nothing takes time in this step.";
  std::string text = limitTitle(limits);
  text.front() = static_cast<char>(text.front() - 'a' + 'A');
  if (!limits.boundBy()) text = "Bound by no single limit";
  for (const Limit limit : longest)
    text += std::string(limit == longest.front() ? ": " : ", ") + limitWords(limit) +
            (limit != longest.front()  ? " "
             : limit == Limit::kLaunch ? " take "
                                       : " takes ") +
            describeShare(limits.share(limit)) +
            (limit == longest.front() ? " of the critical path" : "");
  return text + ".";
}

}  // namespace ringscope::traces

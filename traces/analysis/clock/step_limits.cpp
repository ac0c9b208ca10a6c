// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/step_limits.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "traces/analysis/clock/replay_times.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// Adds the parts of a critical path.
class LimitSums {
 public:
  LimitSums(const Program& program, const Hardware& hardware)
      : program_(program), hardware_(hardware) {}

  void add(const CriticalPart& part) {
    const Program::Op& op = program_.ranks[part.rank.index()].ops[part.op];
    if (part.kind == CriticalPart::Kind::kWork)
      addWork(op, part.span.duration());
    else if (part.message != Program::kNone)
      addTransfer(messageTime(program_.messages[part.message]), part.span.duration());
    else
      addTransfer(collectiveTime(program_.collectives[op.subject], hardware_),
                  part.span.duration());
  }

  StepLimits take() const { return limits_; }

 private:
  std::int64_t& ns(Limit limit) { return limits_.ns[static_cast<std::size_t>(limit)]; }

  void addWork(const Program::Op& op, std::int64_t duration_ns) {
    const double scaled = static_cast<double>(op.work_ns) / hardware_.compute_scale;
    if (static_cast<double>(kernelFloorNs(op, hardware_)) > scaled) {
      ns(Limit::kLaunch) += duration_ns;
    } else if (op.memory_share < 0) {
      ns(Limit::kWork) += duration_ns;
    } else {
      const std::int64_t memory = std::llround(static_cast<double>(duration_ns) * op.memory_share);
      ns(Limit::kMemory) += memory;
      ns(Limit::kCompute) += duration_ns - memory;
    }
  }

  TransferTime messageTime(const Program::Message& message) const {
    return TransferTime{latencyNs(hardware_.link), wireNs(hardware_.link, message.bytes)}.atLeast(
        transferFloorNs(hardware_));
  }

  /// `alone`: the time of the transfer on a free link. The rest waits for bandwidth.
  void addTransfer(const TransferTime& alone, std::int64_t duration_ns) {
    ns(Limit::kLink) += duration_ns;
    limits_.link_fixed_ns += std::min(duration_ns, alone.fixed_ns);
  }

  const Program& program_;
  const Hardware& hardware_;
  StepLimits limits_;
};

}  // namespace

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
  LimitSums sums(program, hardware);
  for (const CriticalPart& part : timeline.critical_path) sums.add(part);
  return sums.take();
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "traces/analysis/clock/step_limits.h"
#include "traces/format/schema/records.h"

namespace ringscope::traces {

class Trace;

/// The uses of a rank's time in a training step. They add up to the step. If several events
/// overlap, the time counts as a wait if one of them is a wait, and else for the first use of this
/// list. A collective that overlaps no work is exposed.
enum class TimeUse : std::uint8_t {
  kAttention = 0,  ///< attends and merges
  kCompute,        ///< all other work of the model
  kExposed,        ///< waits for messages, and collectives that overlap no work
  kSync,           ///< gradient sync, clip, optimizer
  kVerify,
  kBetween,  ///< nothing is recorded
  kCount
};
inline constexpr std::size_t kTimeUses = static_cast<std::size_t>(TimeUse::kCount);
/// "attention", "other compute", "exposed", "sync, step", "verification", "between".
const char* title(TimeUse use);

/// The communication of ranks. Time in flight during which the ranks worked is hidden. Time during
/// which they stood still for communication is exposed, in flight or not.
struct Exposure {
  std::int64_t exposed_ns = 0, hidden_ns = 0;
  std::int64_t bytes = 0;    ///< sent and in collectives; in a model, received
  std::int64_t late_ns = 0;  ///< the part of exposed_ns with nothing of the rank in flight

  /// Returns the time in flight. A recorded message is in flight from the posting of the rank's own
  /// end, and a modelled one from the posting of both ends. A recorded collective is in flight from
  /// the posting of the rank, and a modelled one from that of the last member.
  std::int64_t underWayNs() const { return exposed_ns - late_ns + hidden_ns; }
  /// Returns hidden_ns ÷ underWayNs(), as predictions define it.
  std::optional<double> hiddenShare() const;
  Exposure& operator+=(const Exposure& other);
  friend bool operator==(const Exposure&, const Exposure&) = default;
};

/// Returns a sentence such as "35 % of the time that communication is in flight is hidden".
std::string hiddenWords(const Exposure& exposure);

/// One rank's training step; pauses are left out.
struct RankAccount {
  WorldRank rank = WorldRank::of(0);
  /// From the first begin to the last end of all events but messages; 0 when none has a length.
  std::int64_t step_ns = 0;
  std::array<std::int64_t, kTimeUses> used_ns{};
  Exposure exposure;
  std::int64_t hops = 0;     ///< KV, dK and dV sent
  std::int64_t wall_ns = 0;  ///< of work whose CPU time is recorded
  std::int64_t cpu_ns = 0;   ///< thread CPU time in it; 0: not recorded

  std::int64_t used(TimeUse use) const { return used_ns[static_cast<std::size_t>(use)]; }
};

/// The order in which a step visits its passes.
struct PassBefore {
  bool operator()(const Place& a, const Place& b) const { return before(a, b); }
};

/// One direction of one layer, all ranks together.
struct LayerAccount {
  Layer layer;  ///< none: outside the decoder layers
  Direction direction = Direction::kForward;
  Exposure exposure;
};

/// A table about a step: each row has a name and a value.
struct AccountSection {
  std::string title;  ///< in capitals
  std::vector<std::pair<std::string, std::string>> rows;
  std::string sentence;  ///< under them; empty: none
};

/// The account of a training step, as recorded or by a model.
struct StepAccount {
  std::int32_t train_step = 0;
  std::vector<RankAccount> ranks;  ///< in the order asked for
  /// In the order of visiting. Each moment counts in one layer only, the first that waits or has
  /// something in flight, so that the layers add up to exposure().
  std::vector<LayerAccount> layers;
  bool shared_cores = false;         ///< more ranks than cores: ranks also wait for the scheduler
  bool timed = false;                ///< there are events with a length
  bool model = false;                ///< by the own-device clock, not as recorded
  std::string sentence;              ///< the conclusion
  std::optional<StepLimits> limits;  ///< the limits along the critical path of the model
  std::vector<AccountSection> sections;
  std::string caveat;  ///< why not to trust it fully; may be empty

  /// Returns the sum over all ranks.
  Exposure exposure() const;
  std::int64_t used(TimeUse use) const;
  std::int64_t stepNs() const;
};

/// Accounts for one training step of these ranks as it was recorded.
StepAccount makeStepAccount(const Trace& trace, std::int32_t train_step,
                            const std::vector<WorldRank>& ranks);

}  // namespace ringscope::traces

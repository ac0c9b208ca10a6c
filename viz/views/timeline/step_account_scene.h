// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "traces/analysis/clock/step_limits.h"
#include "viz/maths/span_tree.h"
#include "viz/scene/cursor.h"

namespace ringscope::viz {

/// What a rank's time in a training step goes into. They add up to the step: what is recorded of
/// several at once counts as a wait, or else for the first of them; a collective alone is exposed.
enum class TimeUse : std::uint8_t {
  kAttention = 0,  ///< attends and merges
  kCompute,        ///< all other work of the model
  kExposed,        ///< waits for messages, and collectives under no work: communication not hidden
  kSync,           ///< gradient sync, clip, optimizer
  kVerify,
  kBetween,  ///< nothing is recorded
  kCount
};
inline constexpr std::size_t kTimeUses = static_cast<std::size_t>(TimeUse::kCount);
/// "attention", "other compute", "exposed", "sync, step", "verification", "between".
const char* title(TimeUse use);

/// Communication of ranks: the time in flight during which they worked (hidden), and the time
/// during which they stood still for it (exposed), in flight or not yet.
struct Exposure {
  std::int64_t exposed_ns = 0, hidden_ns = 0;
  std::int64_t bytes = 0;    ///< sent, and of collectives; of a model received
  std::int64_t late_ns = 0;  ///< of exposed: nothing of the rank was in flight

  /// A message is in flight from its posting by its own end, as recorded, or by both, in a model; a
  /// collective from the rank's posting, or from that of the last member.
  std::int64_t underWayNs() const { return exposed_ns - late_ns + hidden_ns; }
  /// hidden ÷ in flight, as traces::hiddenShare() defines it for predictions too.
  std::optional<double> hiddenShare() const;
  Exposure& operator+=(const Exposure& other);
  friend bool operator==(const Exposure&, const Exposure&) = default;
};

/// "35 % of the time that communication is in flight is hidden".
std::string hiddenWords(const Exposure& exposure);

/// One rank's training step; pauses are left out.
struct RankAccount {
  WorldRank rank = WorldRank::of(0);
  /// From its first begin to its last end of anything but messages; 0: no such length is recorded.
  std::int64_t step_ns = 0;
  std::array<std::int64_t, kTimeUses> used_ns{};
  Exposure exposure;
  std::int64_t hops = 0;     ///< KV, dK and dV sent
  std::int64_t wall_ns = 0;  ///< of work whose CPU time is recorded
  std::int64_t cpu_ns = 0;   ///< thread CPU time in it; 0: not recorded

  std::int64_t used(TimeUse use) const { return used_ns[static_cast<std::size_t>(use)]; }
};

/// One direction of one layer, all ranks together.
struct LayerAccount {
  Layer layer;  ///< none: outside the decoder layers
  traces::Direction direction = traces::Direction::kForward;
  Exposure exposure;
};

/// More that a panel says of a step: a line of what, a line of how much.
struct AccountSection {
  std::string title;  ///< in capitals
  std::vector<std::pair<std::string, std::string>> rows;
  std::string sentence;  ///< under them; empty: none
};

/// Where the time of a training step goes, as recorded or by a model.
struct StepAccount {
  std::int32_t train_step = 0;
  std::vector<RankAccount> ranks;  ///< of the cursor's group
  /// In the order of visiting. A moment counts in one of them only, so that they add up to
  /// exposure(): as recorded in the first that waits, or has something in flight.
  std::vector<LayerAccount> layers;
  bool shared_cores = false;  ///< more ranks than cores: what they wait for is the scheduler
  bool timed = false;         ///< there are events with a length
  bool model = false;         ///< of the own-device clock, not of what was recorded
  std::string sentence;       ///< what follows
  std::optional<traces::StepLimits> limits;  ///< of the model's critical path
  std::vector<AccountSection> sections;
  std::string caveat;  ///< how far to trust it; empty: as it is

  /// Of all ranks: what the sentence says of communication, and the table's last row.
  Exposure exposure() const;
  std::int64_t used(TimeUse use) const;
  std::int64_t stepNs() const;
};

StepAccount makeStepAccount(const traces::Trace& trace, const Cursor& cursor);

}  // namespace ringscope::viz

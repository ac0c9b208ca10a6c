// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The way in which a run ended, from the best to the worst.
enum class HowEnded : std::uint8_t { kFinished = 0, kStopped, kCut, kFailed, kCount };
template <>
struct EnumNames<HowEnded> {
  static constexpr const char* kWhat = "ending";
  static constexpr std::array<const char*, 4> kNames = {"finished", "stopped", "cut", "failed"};
};

/// The recorded end of a run. A supervised run whose rank was killed is recorded to the end
/// although it failed, so this, and not the end record, says whether a trace is complete.
struct Ending {
  HowEnded how = HowEnded::kFinished;
  std::string reason;  ///< reason of a failure or a cut; empty otherwise
  /// Every rank recorded all its training steps before this one to their ends; nullopt: unknown.
  std::optional<std::int32_t> whole_until = std::nullopt;

  /// Reports whether everything was recorded until the run had finished or was told to stop.
  bool whole() const { return how == HowEnded::kFinished || how == HowEnded::kStopped; }
  /// Reports whether a training step was recorded to its end, however the run ended.
  bool wholeAt(std::int32_t train_step) const {
    return how == HowEnded::kFinished || (whole_until ? train_step < *whole_until : whole());
  }
  /// Reports whether any training step can be judged as a whole.
  bool hasWholeSteps() const { return whole() || whole_until.value_or(0) > 0; }
};

/// Returns the worst ending that any of the run's processes recorded; kCut when the recording has
/// no end record and no process failed.
Ending findEnding(const Trace& trace);
/// Describes an ending: "the run finished", "the run failed: rank 2 was killed by signal 9".
std::string describe(const Ending& ending);

/// The key of the note in which a recorder states how its run ended.
inline constexpr const char* kEndedNote = "ended";
std::string endedNote(const Ending& ending);

}  // namespace ringscope::traces

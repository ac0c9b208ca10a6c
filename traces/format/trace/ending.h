// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// How a run ended, from the best to the worst.
enum class HowEnded : std::uint8_t { kFinished = 0, kStopped, kCut, kFailed, kCount };
template <>
struct EnumNames<HowEnded> {
  static constexpr const char* kWhat = "ending";
  static constexpr std::array<const char*, 4> kNames = {"finished", "stopped", "cut", "failed"};
};

/// What a recording says of its run's end. A supervised run whose rank was killed is recorded to
/// the end and nevertheless failed; so this, and not the end record, says whether a trace is whole.
struct Ending {
  HowEnded how = HowEnded::kFinished;
  std::string reason;  ///< of a failure or a cut; empty otherwise

  /// All that the run did was recorded, until it had done all or was told to stop.
  bool whole() const { return how == HowEnded::kFinished || how == HowEnded::kStopped; }
};

/// The worst that any of the run's processes recorded; cut when the recording has no end.
Ending endingOf(const Trace& trace);
/// "the run finished", "the run failed: rank 2 was killed by signal 9"
std::string describe(const Ending& ending);

/// The note by which a recorder says how its run ended.
inline constexpr const char* kEndedNote = "ended";
std::string endedNote(const Ending& ending);

}  // namespace ringscope::traces

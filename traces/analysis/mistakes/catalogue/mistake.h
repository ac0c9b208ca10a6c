// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/analysis/mistakes/needs/needs.h"

namespace ringscope::traces {

/// The least that a recording must keep of tensors for a mistake to be seen in it.
enum class CaptureNeeded { kEvents, kStats, kFull };
/// As --capture takes it.
const char* name(CaptureNeeded capture);

/// Along the data's way through a training step.
enum class FirstChanged { kAnything, kLoss, kGradients };

/// The first part of a run's data and plan that a mistake changes, known before the first step. A
/// mistake that leaves this part as it is in every step and on every rank changes nothing.
enum class FirstSeenIn {
  kSettings,  ///< nothing more than its needs is known before the run
  kInputs,    ///< the tokens, labels and positions of a rank
  kTargets,   ///< how many targets each rank has: unequal numbers show it
  kPairs,     ///< which queries attend which keys
  kMerges,    ///< rows to which several pieces of keys are merged
  kBlocks,    ///< rows that attend keys of several ranks' blocks
  kPadding,   ///< the mask over padding
};

/// A mistake that people really make with context parallelism. Every part of RingScope takes its
/// words about a mistake from here: a new mistake is one entry in catalogue/.
struct Mistake {
  std::string id;
  std::string label;        ///< a few words, for a list in the window
  std::string title;        ///< what goes wrong
  std::string when_absent;  ///< what holds where it was not made: a clause, small first letter
  std::string look_for;     ///< its evidence in a recording
  std::string reported_in;  ///< public issues and code where it was met
  std::string view;         ///< name of the view in which the evidence is plain to see
  CaptureNeeded capture = CaptureNeeded::kFull;
  std::vector<std::string> seams{};  ///< of engine/mistakes/seams.h, by which it can be made
  std::string made_by{};             ///< what these then do instead
  bool injectable = false;  ///< the engine can make it; a test compares this with its registry
  /// The settings without which it changes nothing, or cannot be made; the first that a run lacks
  /// is said.
  std::vector<const Need*> needs{};
  FirstSeenIn first_seen_in = FirstSeenIn::kSettings;
  std::string shown_by{};  ///< the data and settings that show it, after "use "; with first_seen_in
  /// Said at the end of a run whose numbers did not show it: "because …; use …". Empty: it shows.
  std::string when_unseen{};
  /// The run that validation is asked about instead; null: the run itself.
  RunSpec (*checked_as)(const RunSpec& run) = nullptr;
  /// Mistakes whose rules may find something too where this one was made. It comes before them on
  /// the data's way, so its own finding stands for theirs.
  std::vector<std::string> also_trips{};
  /// The first part that the mistake can change. An error before it has another cause.
  FirstChanged first_changed = FirstChanged::kAnything;
  std::string subject{};  ///< heading of its part of the catalogue
};

/// The note of a recording that counts the injected mistakes that changed nothing. It names none.
inline constexpr const char* kUnseenMistakesNote = "injected.changed_nothing";

}  // namespace ringscope::traces

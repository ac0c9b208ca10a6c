// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// A number in fp64, and how far from it rounding may bring one that a run computed.
struct Rounded {
  double value = 0, limit = 0;

  Rounded times(double factor) const;
  /// |logged − value| ÷ limit; 0 where both are the same or neither is a number.
  double ratioOf(double logged) const;
};

/// What a number would be with one mistake in the run.
struct NumberHypothesis {
  std::string mistake;  ///< an id of the catalogue
  std::string how;      ///< which of the ways in which it is made: "of rank 2"; empty: the only one
  Rounded gives;        ///< of a tensor: how far it is off
  double ratio = 0;     ///< of what was recorded, to what it gives

  bool reproduces() const { return ratio <= 1; }
};

/// A number that a run logged against the one that follows from recorded tensors.
struct ScalarCheck {
  std::string what;  ///< "loss", "grad_norm"
  std::optional<double> logged, exact;
  double limit = 0;     ///< what rounding explains
  std::string skipped;  ///< why it was not computed or compared; empty otherwise
  std::vector<NumberHypothesis> hypotheses;  ///< where it is wrong: the likeliest first
  std::string untried;                       ///< then: which could not be computed, and why

  /// Above 1 it is wrong; nothing when it was not compared.
  std::optional<double> ratio() const;
  bool isWrong() const { return ratio() && !(*ratio() <= 1); }
};

/// The recorded gradient of the output projection after the sync against the sum of what the
/// recorded logits and labels of all ranks give (head_parts.h).
struct GradientCheck {
  std::string parameter;
  double off = 0;       ///< the difference as a share of the larger one's 2-norm, on the worst rank
  double limit = 0;     ///< the share that rounding explains, as measured
  WorldRank rank;       ///< the worst; none: all ranks have the same
  std::string skipped;  ///< why it was not compared; empty otherwise
  std::vector<NumberHypothesis> hypotheses;  ///< as those of a ScalarCheck
  std::string untried;

  std::optional<double> ratio() const;
  bool isWrong() const { return ratio() && !(*ratio() <= 1); }
};

/// A number of a training step's log line (the note "step.N"); nothing where there is none. The log
/// is JSON, in which what is not finite is null: that is NaN here.
std::optional<double> loggedNumber(const Trace& trace, std::int32_t train_step, const char* field);

/// Something is missing; `why` says what.
struct MissingValue {
  std::string why;
};

/// A recorded tensor and its values.
struct RecordedValues {
  const TensorRecord* record = nullptr;
  std::vector<double> values;
};
/// Throws MissingValue, and inputError when values are damaged.
RecordedValues recordedValues(const Trace& trace, const TensorName& tensor, const Place& place,
                              WorldRank rank);

/// Checks the logged number `what` by what `compute` gives, which throws MissingValue where it
/// cannot. A number that was logged as not finite is compared with one that is.
template <typename Compute>
ScalarCheck checkLogged(const Trace& trace, std::int32_t train_step, const char* what,
                        Compute&& compute) {
  ScalarCheck check;
  check.what = what;
  check.logged = loggedNumber(trace, train_step, what);
  try {
    const Rounded meant = compute();
    check.exact = meant.value;
    check.limit = meant.limit;
    if (!check.logged)
      check.skipped = std::string("the ") + what + " that the run logged is not recorded";
    else if (meant.value != meant.value && *check.logged != *check.logged)
      check.skipped = std::string("the ") + what +
                      " that the run logged is not finite, and neither is what it is made of";
  } catch (const MissingValue& missing) {
    check.skipped = missing.why;
  }
  return check;
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// A number in fp64, and how far rounding may move the number that a run computed from it.
struct Rounded {
  double value = 0, limit = 0;

  Rounded times(double factor) const;
  /// Returns |logged − value| ÷ limit; 0 when both are equal or both are NaN.
  double ratioFor(double logged) const;
};

/// The number that a run would have with one mistake.
struct NumberHypothesis {
  std::string mistake;  ///< an id of the catalogue
  std::string how;      ///< variant of the mistake, such as "of rank 2"; empty: there is only one
  Rounded gives;        ///< the number with the mistake; for a tensor the share by which it is off
  double ratio = 0;     ///< |recorded − gives| ÷ limit

  bool reproduces() const { return ratio <= 1; }
};

bool anyReproduces(const std::vector<NumberHypothesis>& hypotheses);

/// A number that a run logged, compared with the number that follows from recorded tensors.
struct ScalarCheck {
  std::string what;  ///< "loss", "grad_norm"
  std::optional<double> logged, exact;
  double limit = 0;     ///< error that rounding explains
  std::string skipped;  ///< reason why it was not computed or compared; empty otherwise
  std::vector<NumberHypothesis> hypotheses;  ///< for a wrong number: the likeliest hypothesis first
  std::string untried;                       ///< for a wrong number: hypotheses that could not be
                                             ///< computed, and why
  /// Reason why a right run may have another number; empty: it cannot.
  std::string open;

  /// Returns the ratio; above 1 the number differs. nullopt: not compared.
  std::optional<double> ratio() const;
  bool differs() const { return ratio() && !(*ratio() <= 1); }
  /// Reports whether the number is wrong: a mistake gives it, or it differs and a right run cannot.
  bool isWrong() const { return differs() && (open.empty() || anyReproduces(hypotheses)); }
};

/// The recorded gradient of the output projection after the sync, compared with the sum that the
/// recorded logits and labels of all ranks give (head_parts.h).
struct GradientCheck {
  std::string parameter;
  double off = 0;       ///< difference as a share of the larger side's 2-norm, on the worst rank
  double limit = 0;     ///< share that rounding explains, as measured
  WorldRank rank;       ///< the worst rank; none: all ranks are equal
  std::string skipped;  ///< reason why it was not compared; empty otherwise
  std::vector<NumberHypothesis> hypotheses;  ///< as in ScalarCheck
  std::string untried;
  std::string open;  ///< as in ScalarCheck

  std::optional<double> ratio() const;
  bool differs() const { return ratio() && !(*ratio() <= 1); }
  bool isWrong() const { return differs() && (open.empty() || anyReproduces(hypotheses)); }
};

/// Returns a number of a training step's log line (the note "step.N"); nullopt when there is none.
/// JSON's null, which stands for a non-finite number, becomes NaN.
std::optional<double> loggedNumber(const Trace& trace, std::int32_t train_step, const char* field);

/// The exception for a missing value; `why` says which.
struct MissingValue {
  std::string why;
};

/// A recorded tensor and its values.
struct RecordedValues {
  const TensorRecord* record = nullptr;
  std::vector<double> values;
};
/// Returns a recorded tensor. Throws MissingValue, and inputError when values are damaged.
RecordedValues recordedValues(const Trace& trace, const TensorName& tensor, const Place& place,
                              WorldRank rank);

/// Compares the logged number `what` with the result of `compute`, which throws MissingValue when
/// it cannot compute it. A logged NaN is compared with a finite result.
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

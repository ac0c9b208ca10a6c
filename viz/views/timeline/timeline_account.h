// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/views/timeline/timeline_axis.h"

namespace ringscope::viz {

/// The account of the viewed step that the panel shows, made anew only when one of its sources has
/// changed.
class TimelineAccount {
 public:
  const StepAccount& account() const { return account_; }
  /// The model that the account is of; null on the recorded axis.
  const std::shared_ptr<const OwnClock>& clock() const { return made_.clock; }
  /// Returns false when the account is still right. Else also renews the chain and the captions of
  /// the scene.
  bool update(const Cursor& watched, std::uint64_t version, TimelineAxis& axis, ChartScene& scene);

 private:
  struct Sources {
    Cursor cursor;
    std::uint64_t version = 0;
    std::shared_ptr<const OwnClock> clock;
    bool has_path = false, is_model = false;
    friend bool operator==(const Sources&, const Sources&) = default;
  };
  StepAccount account_;
  Sources made_;
  RecordedStep step_;
};

}  // namespace ringscope::viz

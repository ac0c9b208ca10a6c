// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>

#include "viz/views/timeline/chart_scene.h"
#include "viz/views/timeline/chart_state.h"

namespace ringscope::viz {

/// The state of the Timeline view, which its parts read and change.
struct TimelineState {
  ChartScene scene;
  ChartState chart;
  std::string why_empty;                ///< why the scene has no lanes
  std::optional<SpanDetails> selected;  ///< of the bar that was clicked
  bool fits_step = true;                ///< the user has not zoomed since F
  double scroll_ranks = 0, scroll_panel = 0, panel_height = 0;

  TimeWindow all() const { return scene.empty() ? TimeWindow{0, 1} : scene.tracks->all(); }
  /// Returns the window that shows a training step with a margin.
  TimeWindow stepWindow(std::int32_t train_step) const;
  void show(const TimeWindow& window) {
    fits_step = false;
    chart.show(window, all());
  }
  /// Shows the training step, or the whole run when the step is on show already.
  void fit(std::int32_t train_step);
  /// Forgets the window, marks, range and selection, which belong to another axis or recording.
  void startOver();
  /// Copies the window, the marks and the range into the scene.
  void follow();
};

}  // namespace ringscope::viz

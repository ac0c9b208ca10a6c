// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTimer>

#include "viz/views/base/live_throttle.h"
#include "viz/views/base/view.h"
#include "viz/views/timeline/timeline_account.h"
#include "viz/views/timeline/timeline_canvas.h"
#include "viz/views/timeline/timeline_gestures.h"
#include "viz/views/timeline/timeline_search.h"

namespace ringscope::viz {

/// The whole run on lanes, from hours to nanoseconds. The wheel and W S zoom about the pointer, A D
/// and dragging move. F shows the training step, and F again the whole run. M marks, R or dragging
/// with Shift measures, a click moves the moment, / searches, and Esc forgets marks and range. O
/// changes between the recorded axis and the own-device clock. C shows the critical path.
class TimelineView : public View {
  Q_OBJECT
 public:
  explicit TimelineView(Viewing& viewing, QWidget* parent = nullptr);

  /// Returns the chart on show and its layout.
  const ChartScene& scene() const { return state_.scene; }
  ChartLayout chart() const {
    return chartLayout(parts().chart, state_.scene, state_.scroll_ranks);
  }
  TimelinePage parts() const;
  const StepAccount& account() const { return account_.account(); }
  bool ownDevices() const { return axis_->ownDevices(); }
  /// Changes the axis, as O does.
  void setOwnDevices(bool own) override { axis_->choose(own); }
  /// Gives the focus to the search field. Without lanes there is nothing to search.
  bool focusSearch() override;
  /// Reports whether a model is under way that the view does not draw yet.
  bool isMaking() const override {
    return (axis_->ownDevices() || axis_->showsPath()) && axis_->isReplaying();
  }
  /// Returns the model on show; null on the recorded axis, and without a model.
  std::shared_ptr<const OwnClock> clock() const { return axis_->clock(); }
  /// Returns the number of shapes of the last frame.
  int primitives() const { return canvas_.primitives(); }

 protected:
  Cursor watched(Cursor cursor) const override;
  void refresh() override { throttle_.request(); }
  void moved() override;
  void themeChanged() override { canvas_.forget(); }
  void arrange() override;
  void paint(QPainter& painter, const QRectF& page, const QRegion& dirty) override;
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void makeChart();
  /// Draws the lanes and the overview again, which alone change with the window.
  void afterMove();
  bool handleMouse(QEvent* event);
  void showTip(const QHelpEvent& event);
  std::vector<TimelineChip> chips() const;

  TimelineState state_;
  TimelineAxis* axis_;
  TimelineSearch* search_;
  TimelineGestures* gestures_;
  TimelineAccount account_;
  TimelineCanvas canvas_;
  LiveThrottle throttle_;
  QTimer reading_;
  int generation_ = -1, recording_ = -1;  // of the data when the chart was made
};

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QPixmap>
#include <QTimer>
#include <QToolButton>

#include "viz/views/base/live_throttle.h"
#include "viz/views/base/view.h"
#include "viz/views/timeline/account_scene.h"
#include "viz/views/timeline/chart_painter.h"
#include "viz/views/timeline/chart_state.h"
#include "viz/views/timeline/clock_box.h"
#include "viz/views/timeline/clock_replay.h"
#include "viz/views/timeline/timeline_page.h"
#include "viz/views/timeline/track_search_scene.h"

namespace ringscope::viz {

/// The whole run on lanes, from hours to nanoseconds. The wheel and W S zoom about the pointer, A D
/// and dragging move, F shows the training step and F again the whole run, M marks, R or dragging
/// with Shift measures, a click moves the moment, / searches, Esc forgets marks and range. O
/// changes between the recording's own axis and the own-device clock, a model; C shows the critical
/// path.
class TimelineView : public View {
  Q_OBJECT
 public:
  explicit TimelineView(Viewing& viewing, QWidget* parent = nullptr);

  /// What is drawn now, and where.
  const ChartScene& scene() const { return scene_; }
  ChartLayout chart() const;
  TimelinePage parts() const;
  const StepAccount& account() const { return account_; }
  bool ownDevices() const { return own_axis_->isChecked(); }
  /// Changes the axis, as O does.
  void setOwnDevices(bool own) override { (own ? own_axis_ : recorded_axis_)->click(); }
  /// A model is under way, and what is drawn is not it yet.
  bool isMaking() const override {
    return (ownDevices() || box_->path()->isChecked()) && replay_.replaying();
  }
  /// Null: the axis is that of the recording, or there is no model of it.
  std::shared_ptr<const OwnClock> clock() const { return ownDevices() ? replay_.clock() : nullptr; }
  /// Shapes of the last frame.
  int primitives() const { return canvas_.primitives; }

 protected:
  Cursor watched(Cursor cursor) const override;
  void refresh() override;
  void moved() override;
  void themeChanged() override;
  void paint(QPainter& painter, const QRectF& page, const QRegion& dirty) override;
  bool event(QEvent* event) override;
  /// Enter in the search field looks for the next one.
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  enum class Drag { kNone, kLanes, kRange, kOverview };

  void makeBar();
  void makeAxes();
  void changeAxis();
  void placeControls();
  void keepSelected();
  void findTracks();
  StepAccount accountOnAxis() const;
  std::int32_t modelledStep() const;
  void findDevices();
  void findChain();
  /// A time of the run on the axis, for who is selected; a point of the axis in the run.
  double onAxis(std::int64_t run_ns) const;
  std::int64_t offAxis(double axis_ns, WorldRank rank) const;
  std::optional<traces::Event> eventAt(const SpanPlace& place) const;
  SpanDetails detailsAt(const SpanPlace& place) const;
  std::optional<SpanPlace> spanLike(const TrackQuery& query, double from_ns, bool back) const;
  void makeChart();
  void makeAccount();
  void setWindow(const TimeWindow& window);
  void afterMove();
  void hover(const QPointF& point);
  void select(const SpanPlace& place);
  void goTo(double axis_ns, WorldRank rank);
  void fit();
  void search(bool back);
  double pointerNs() const;
  bool zoomKey(int key);
  TimeWindow all() const;
  TimeWindow stepWindow() const;
  void paintBar(QPainter& painter, const QRectF& area) const;
  void paintAround(QPainter& painter, const QRectF& page, const QRegion& dirty);
  void paintOverviewKept(QPainter& painter, const QRectF& area);

  ChartState state_;
  ChartScene scene_;
  std::string why_empty_;
  StepAccount account_;
  ChartCanvas canvas_;
  QPixmap overview_;                     // without the window; null: to be drawn
  std::optional<SpanDetails> selected_;  // of what was clicked
  QPointF pointer_;                      // on the page
  bool pointer_inside_ = false;
  Drag drag_ = Drag::kNone;
  QPointF pressed_at_;
  TimeWindow pressed_window_;
  double pressed_scroll_ = 0, scroll_ranks_ = 0, scroll_panel_ = 0, panel_height_ = 0;
  bool dragged_ = false;
  int generation_ = -1;
  int recording_ = -1;
  Cursor account_of_;
  std::uint64_t account_version_ = 0;
  bool fits_step_ = true;  // nobody has zoomed since F
  LiveThrottle throttle_;
  QTimer reading_;
  ClockReplay replay_;
  RecordedStep devices_of_, account_step_;         // of which the box's devices and the account are
  std::shared_ptr<const OwnClock> account_clock_;  // that the account is of
  bool account_path_ = false, account_model_ = false;
  QToolButton *recorded_axis_, *own_axis_;
  ClockBox* box_;
  QLineEdit* search_;
  QLabel* found_;  // what a search has come to
};

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QToolButton>

#include "viz/session/viewing.h"
#include "viz/views/timeline/clock_box.h"
#include "viz/views/timeline/clock_replay.h"
#include "viz/views/timeline/timeline_page.h"
#include "viz/views/timeline/timeline_state.h"
#include "viz/views/timeline/track_search_scene.h"

namespace ringscope::viz {

/// The two axes of the Timeline view, as recorded and the own-device clock, with the controls that
/// choose between them. Finds tracks and events, and converts times, on the axis on show.
class TimelineAxis : public QObject {
  Q_OBJECT
 public:
  TimelineAxis(Viewing& viewing, QWidget* view);

  bool ownDevices() const { return own_->isChecked(); }
  void choose(bool own) { (own ? own_ : recorded_)->click(); }
  bool showsPath() const { return box_->path()->isChecked(); }
  void togglePath() { box_->path()->toggle(); }
  bool isReplaying() const { return replay_.replaying(); }
  /// The model on show; null on the recorded axis, and when there is no model.
  std::shared_ptr<const OwnClock> clock() const { return ownDevices() ? replay_.clock() : nullptr; }
  const RecordedStep& recorded() const { return replay_.recorded(); }

  /// Puts the tracks of the axis into the state, or the reason why there are none.
  void findTracks(TimelineState& state);
  /// Accounts for the viewed step on this axis.
  StepAccount account(const ChartScene& scene) const;
  /// Returns the critical path, and adds its section, or the reason why there is none, to the
  /// account.
  std::shared_ptr<const CriticalChain> findChain(const ChartScene& scene, StepAccount& account);

  /// Converts a time of the run for the selected rank to a point of the axis, and a point back.
  double onAxis(std::int64_t run_ns, const ChartScene& scene) const;
  std::int64_t offAxis(double axis_ns, WorldRank rank, const ChartScene& scene) const;
  std::optional<traces::Event> eventAt(const SpanPlace& place, const ChartScene& scene) const;
  SpanDetails detailsAt(const SpanPlace& place, const ChartScene& scene) const;
  std::optional<SpanPlace> find(const TrackQuery& query, double from_ns, bool back,
                                const ChartScene& scene) const;

  void place(const TimelinePage& at, double zoom);
  /// The right end of the buttons, in pixels of the view.
  int right() const { return own_->geometry().right(); }

 Q_SIGNALS:
  /// The other axis has been chosen.
  void chosen();
  /// The axis is drawn anew, because the model changed or the critical path was shown or hidden.
  void remade(bool other_model);

 private:
  std::int32_t modelledStep() const;
  void findDevices();

  Viewing& viewing_;
  ClockReplay replay_;
  QToolButton *recorded_, *own_;
  ClockBox* box_;
  RecordedStep devices_of_;  // the step that the devices of the box were compared with
};

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gtest/gtest.h>

#include <QApplication>
#include <QTest>

#include "tests/support/trace_builder.h"
#include "tests/viz/own_clock_cases.h"
#include "viz/views/timeline/timeline_view.h"

namespace ringscope::viz {

/// The Timeline with a recording of four ranks in a ring.
class OwnAxisTest : public testing::Test {
 protected:
  OwnAxisTest() : view(viewing) {
    view.resize(1280, 800);
    open(test::OwnClockCase::ring(1000));
    view.show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(&view));
    QApplication::setActiveWindow(&view);
    view.setFocus();
  }
  void open(const std::string& text) {
    viewing.session.open(test::makeTrace(text), "case", false);
    viewing.player.setPlaying(false);
    QApplication::processEvents();
  }
  template <typename Widget>
  Widget* named(const QString& name) {
    for (auto* each : view.findChildren<Widget*>())
      if (each->accessibleName() == name) return each;
    return nullptr;
  }
  QAbstractButton* button(const QString& text) {
    for (auto* each : view.findChildren<QAbstractButton*>())
      if (each->text() == text) return each;
    return nullptr;
  }
  /// Uses the test's link instead of a preset.
  void replayOn(const traces::Hardware& hardware) {
    auto* box = view.findChild<ClockBox*>();
    box->setHardware(hardware);
    Q_EMIT box->hardwareChanged(hardware);
  }
  QPoint at(double ns, int rank, LaneKind lane = LaneKind::kCompute) const {
    const ChartLayout layout = view.chart();
    const auto* row = layout.row(view.scene().rankSeat(WorldRank::of(rank)), lane);
    return QPointF(layout.scale(view.scene().window).x(ns), row->box.center().y()).toPoint();
  }

  Viewing viewing;
  TimelineView view;
};

}  // namespace ringscope::viz

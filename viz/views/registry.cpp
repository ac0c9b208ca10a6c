// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/paint/coverage_painter.h"
#include "viz/paint/now_painter.h"
#include "viz/views/scene_view.h"

namespace ringscope::viz {

View* makeRingView(Viewing& viewing, QWidget* parent);
View* makePositionsView(Viewing& viewing, QWidget* parent);
View* makeMergeView(Viewing& viewing, QWidget* parent);
View* makeMemoryView(Viewing& viewing, QWidget* parent);
View* makeCurvesView(Viewing& viewing, QWidget* parent);
View* makeQueryView(Viewing& viewing, QWidget* parent);
View* makeCompareView(Viewing& viewing, QWidget* parent);
View* makeTimelineView(Viewing& viewing, QWidget* parent);
View* makeDiffView(Viewing& viewing, QWidget* parent);
View* makeTensorView(Viewing& viewing, QWidget* parent);
View* makeDoctorView(Viewing& viewing, QWidget* parent);

namespace {

View* makeCoverageView(Viewing& viewing, QWidget* parent) {
  return new SceneView<CoverageScene>(
      viewing, parent,
      {"Coverage: which query chunk has attended which key chunk, and each rank's work",
       [](const Session& session, const Cursor& cursor) {
         return std::make_shared<const CoverageScene>(makeCoverageScene(session.trace(), cursor));
       },
       paintCoverage, describe,
       [](const QPointF& point, const QRectF& area, const CoverageScene& scene) {
         const auto pair = coverageHit(point, area, scene);
         return pair ? describePair(scene, pair->query, pair->key) : std::string();
       },
       nullptr, coverageHeight});
}

/// Space goes on to the next ring step.
View* makeNowView(Viewing& viewing, QWidget* parent) {
  return new SceneView<RingScene>(
      viewing, parent,
      {"Now: what happens in this ring step, in words",
       [](const Session& session, const Cursor& cursor) { return session.ring(cursor); }, paintNow,
       [](const RingScene& scene) { return scene.note.empty() ? scene.sentence : scene.note; },
       nullptr,
       [](Viewing& on, const QKeyEvent& event) {
         if (event.key() != Qt::Key_Space) return false;
         on.player.setPlaying(false);
         on.navigator.move(1);
         return true;
       },
       nowHeight});
}

}  // namespace

const std::vector<ViewEntry>& viewRegistry() {
  static const std::vector<ViewEntry> kViews = {
      {"ring", "Ring", makeRingView},
      {"coverage", "Coverage", makeCoverageView},
      {"positions", "Positions", makePositionsView},
      {"merge", "Merge", makeMergeView},
      {"memory", "Memory", makeMemoryView},
      {"timeline", "Timeline", makeTimelineView},
      {"diff", "Diff", makeDiffView},
      {"tensor", "Tensor", makeTensorView},
      {"doctor", "Doctor", makeDoctorView},
      {"now", "Now", makeNowView},
      {"curves", "Curves", makeCurvesView},
      {"query", "Query", makeQueryView},
      {"compare", "Compare", makeCompareView},
  };
  return kViews;
}

}  // namespace ringscope::viz

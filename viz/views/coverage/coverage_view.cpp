// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/base/scene_view.h"
#include "viz/views/coverage/coverage_painter.h"

namespace ringscope::viz {

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
       nullptr, coverageHeight,
       [](const QPointF& point, const QRectF& area, const CoverageScene& scene) {
         const auto pair = coverageHit(point, area, scene);
         // The last query of a chunk has seen the most blocks.
         return pair ? scene.last_tokens[static_cast<std::size_t>(pair->query)]
                     : TokenIndex::none();
       }});
}

}  // namespace ringscope::viz

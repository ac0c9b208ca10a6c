// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/kit/plain_key.h"
#include "viz/views/base/scene_view.h"
#include "viz/views/now/now_painter.h"

namespace ringscope::viz {

/// Space goes on to the next ring step.
View* makeNowView(Viewing& viewing, QWidget* parent) {
  return new SceneView<RingScene>(
      viewing, parent,
      {"Now: what happens in this ring step, in words",
       [](const Session& session, const Cursor& cursor) { return session.ring(cursor); }, paintNow,
       [](const RingScene& scene) { return scene.note.empty() ? scene.sentence : scene.note; },
       nullptr,
       [](Viewing& on, const QKeyEvent& event) {
         if (plainKey(event) != Qt::Key_Space) return false;
         on.player.setPlaying(false);
         on.navigator.move(1);
         return true;
       },
       nowHeight});
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/keys.h"

#include <algorithm>

namespace ringscope::viz {
namespace {

constexpr double kSlowest = 0.25, kFastest = 8;

void moveBy(Hub& hub, int direction, Qt::KeyboardModifiers modifiers) {
  if (modifiers & Qt::ControlModifier) return hub.moveTrainStep(direction);
  const int pass = std::max(1, hub.scene().ring_steps);
  hub.move(direction * (modifiers & Qt::ShiftModifier ? pass : 1));
}

}  // namespace

bool applyKey(Hub& hub, const QKeyEvent& event) {
  const int last = static_cast<int>(hub.trace().moments().size()) - 1;
  const int key = event.key();
  const bool plain = (event.modifiers() & ~Qt::KeypadModifier) == Qt::NoModifier;
  if (key >= Qt::Key_1 && key <= Qt::Key_8 && plain) {
    hub.selectRank(key - Qt::Key_1);
    return true;
  }
  switch (key) {
    case Qt::Key_Space:
      hub.setPlaying(!hub.playing());
      break;
    case Qt::Key_Left:
      moveBy(hub, -1, event.modifiers());
      break;
    case Qt::Key_Right:
      moveBy(hub, 1, event.modifiers());
      break;
    case Qt::Key_Home:
      hub.setFollowing(false);
      hub.setMoment(0, 0);
      break;
    case Qt::Key_End:
      hub.setMoment(last, 1);
      break;
    case Qt::Key_F:
      hub.setFollowing(!hub.following());
      break;
    case Qt::Key_T:
      hub.setAxis(hub.axis() == Axis::kTime ? Axis::kRingStep : Axis::kTime);
      break;
    case Qt::Key_M:
      hub.setReducedMotion(!hub.reducedMotion());
      break;
    case Qt::Key_N:
      hub.nextDivergence();
      break;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      hub.setSpeed(std::min(kFastest, hub.speed() * 2));
      break;
    case Qt::Key_Minus:
      hub.setSpeed(std::max(kSlowest, hub.speed() / 2));
      break;
    default:
      return false;
  }
  return true;
}

}  // namespace ringscope::viz

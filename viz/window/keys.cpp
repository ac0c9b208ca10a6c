// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/keys.h"

#include <algorithm>

#include "viz/scene/groups.h"

namespace ringscope::viz {
namespace {

constexpr double kSlowest = 0.25, kFastest = 8;

void moveBy(Viewing& viewing, int direction, Qt::KeyboardModifiers modifiers) {
  if (modifiers & Qt::ControlModifier) return viewing.navigator.moveTrainStep(direction);
  const auto& trace = viewing.session.trace();
  const Cursor& cursor = viewing.navigator.cursor();
  const int pass = std::max(1, ringStepsOf(trace, cursor.place, ranksOf(trace, cursor.group)));
  viewing.navigator.move(direction * (modifiers & Qt::ShiftModifier ? pass : 1));
}

}  // namespace

bool applyKey(Viewing& viewing, const QKeyEvent& event) {
  Navigator& navigator = viewing.navigator;
  Player& player = viewing.player;
  const int key = event.key();
  const bool plain = (event.modifiers() & ~Qt::KeypadModifier) == Qt::NoModifier;
  if (key >= Qt::Key_1 && key <= Qt::Key_8 && plain) {
    const auto ranks = ranksOf(viewing.session.trace(), navigator.cursor().group);
    const auto seat = static_cast<std::size_t>(key - Qt::Key_1);
    if (seat < ranks.size()) navigator.selectRank(ranks[seat]);
    return true;
  }
  switch (key) {
    case Qt::Key_Space:
      player.setPlaying(!player.playing());
      break;
    case Qt::Key_Left:
      moveBy(viewing, -1, event.modifiers());
      break;
    case Qt::Key_Right:
      moveBy(viewing, 1, event.modifiers());
      break;
    case Qt::Key_Home:
      player.setFollowing(false);
      navigator.setMoment(0, 0);
      break;
    case Qt::Key_End:
      player.goToHead();
      break;
    case Qt::Key_F:
      player.setFollowing(!player.following());
      break;
    case Qt::Key_T:
      navigator.setAxis(navigator.axis() == Axis::kTime ? Axis::kRingStep : Axis::kTime);
      break;
    case Qt::Key_G: {
      const auto groups = static_cast<int>(groupsOf(viewing.session.trace()).size());
      navigator.setGroup((navigator.cursor().group + 1) % std::max(1, groups));
      break;
    }
    case Qt::Key_M:
      player.setReducedMotion(!player.reducedMotion());
      break;
    case Qt::Key_N:
      navigator.nextDivergence();
      break;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      player.setSpeed(std::min(kFastest, player.speed() * 2));
      break;
    case Qt::Key_Minus:
      player.setSpeed(std::max(kSlowest, player.speed() / 2));
      break;
    default:
      return false;
  }
  return true;
}

}  // namespace ringscope::viz

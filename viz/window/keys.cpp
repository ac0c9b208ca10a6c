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

/// Of the group that is viewed; nothing where it has no such seat.
void selectSeat(Viewing& viewing, std::size_t seat) {
  const auto ranks = ranksOf(viewing.session.trace(), viewing.navigator.cursor().group);
  if (seat < ranks.size()) viewing.navigator.selectRank(ranks[seat]);
}

/// The next rank of the group, or the one before; round again at the ends.
void selectNext(Viewing& viewing, bool back) {
  const auto ranks = ranksOf(viewing.session.trace(), viewing.navigator.cursor().group);
  const auto at = std::ranges::find(ranks, viewing.navigator.rank());
  if (at == ranks.end()) return;
  const auto seat = static_cast<std::size_t>(at - ranks.begin());
  selectSeat(viewing, (seat + (back ? ranks.size() - 1 : 1)) % ranks.size());
}

}  // namespace

bool applyKey(Viewing& viewing, const QKeyEvent& event) {
  Navigator& navigator = viewing.navigator;
  Player& player = viewing.player;
  const int key = event.key();
  const auto with = event.modifiers() & ~Qt::KeypadModifier;
  if (key >= Qt::Key_1 && key <= Qt::Key_8 && (with == Qt::NoModifier || with == Qt::AltModifier)) {
    constexpr std::size_t kByAlt = 8;
    selectSeat(viewing, static_cast<std::size_t>(key - Qt::Key_1) + (with ? kByAlt : 0));
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
    case Qt::Key_R:
      selectNext(viewing, event.modifiers() & Qt::ShiftModifier);
      break;
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

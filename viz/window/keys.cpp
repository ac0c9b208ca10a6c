// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/keys.h"

#include <algorithm>
#include <utility>

#include "viz/scene/groups.h"

namespace ringscope::viz {
namespace {

constexpr double kSlowest = 0.25, kFastest = 8;

void moveBy(Viewing& viewing, int direction, Qt::KeyboardModifiers modifiers) {
  if (modifiers & Qt::ControlModifier) return viewing.navigator.moveTrainStep(direction);
  const auto& trace = viewing.session.trace();
  const Cursor& cursor = viewing.navigator.cursor();
  const int pass =
      std::max(1, countRingSteps(trace, cursor.place, groupRanks(trace, cursor.group)));
  viewing.navigator.move(direction * (modifiers & Qt::ShiftModifier ? pass : 1));
}

/// Returns a rank of the viewed group; none when the group has no such seat.
void selectSeat(Viewing& viewing, std::size_t seat) {
  const auto ranks = groupRanks(viewing.session.trace(), viewing.navigator.cursor().group);
  if (seat < ranks.size()) viewing.navigator.selectRank(ranks[seat]);
}

/// The next rank of the group, or the one before; round again at the ends.
void selectNext(Viewing& viewing, bool back) {
  const auto ranks = groupRanks(viewing.session.trace(), viewing.navigator.cursor().group);
  const auto at = std::ranges::find(ranks, viewing.navigator.cursor().rank);
  if (at == ranks.end()) return;
  const auto seat = static_cast<std::size_t>(at - ranks.begin());
  selectSeat(viewing, (seat + (back ? ranks.size() - 1 : 1)) % ranks.size());
}

void playOrHold(Viewing& viewing, const QKeyEvent&) {
  viewing.player.setPlaying(!viewing.player.playing());
}

void moveBack(Viewing& viewing, const QKeyEvent& event) {
  moveBy(viewing, -1, event.modifiers());
}

void moveOn(Viewing& viewing, const QKeyEvent& event) {
  moveBy(viewing, 1, event.modifiers());
}

void goToFirst(Viewing& viewing, const QKeyEvent&) {
  viewing.player.setFollowing(false);
  viewing.navigator.setMoment(0, 0);
}

void goToLast(Viewing& viewing, const QKeyEvent&) {
  viewing.player.goToHead();
}

void followOrNot(Viewing& viewing, const QKeyEvent&) {
  viewing.player.setFollowing(!viewing.player.following());
}

void changeAxis(Viewing& viewing, const QKeyEvent&) {
  Navigator& navigator = viewing.navigator;
  navigator.setAxis(navigator.cursor().axis == Axis::kTime ? Axis::kRingStep : Axis::kTime);
}

void selectNextGroup(Viewing& viewing, const QKeyEvent&) {
  const auto groups = static_cast<int>(listGroups(viewing.session.trace()).size());
  viewing.navigator.setGroup((viewing.navigator.cursor().group + 1) % std::max(1, groups));
}

void selectNextRank(Viewing& viewing, const QKeyEvent& event) {
  selectNext(viewing, event.modifiers() & Qt::ShiftModifier);
}

void moveOrNot(Viewing& viewing, const QKeyEvent&) {
  viewing.player.setReducedMotion(!viewing.player.reducedMotion());
}

void goToDivergence(Viewing& viewing, const QKeyEvent&) {
  viewing.navigator.nextDivergence();
}

void playFaster(Viewing& viewing, const QKeyEvent&) {
  viewing.player.setSpeed(std::min(kFastest, viewing.player.speed() * 2));
}

void playSlower(Viewing& viewing, const QKeyEvent&) {
  viewing.player.setSpeed(std::max(kSlowest, viewing.player.speed() / 2));
}

void selectByNumber(Viewing& viewing, const QKeyEvent& event) {
  constexpr std::size_t kByAlt = 8;
  const bool alt = event.modifiers() & Qt::AltModifier;
  selectSeat(viewing, static_cast<std::size_t>(event.key() - Qt::Key_1) + (alt ? kByAlt : 0));
}

using Action = void (*)(Viewing& viewing, const QKeyEvent& event);
constexpr std::pair<Qt::Key, Action> kActions[] = {
    {Qt::Key_Space, playOrHold}, {Qt::Key_Left, moveBack},     {Qt::Key_Right, moveOn},
    {Qt::Key_Home, goToFirst},   {Qt::Key_End, goToLast},      {Qt::Key_F, followOrNot},
    {Qt::Key_T, changeAxis},     {Qt::Key_G, selectNextGroup}, {Qt::Key_R, selectNextRank},
    {Qt::Key_M, moveOrNot},      {Qt::Key_N, goToDivergence},  {Qt::Key_Plus, playFaster},
    {Qt::Key_Equal, playFaster}, {Qt::Key_Minus, playSlower},
};

/// Returns the action of a key; null when it has none.
Action actionFor(const QKeyEvent& event) {
  const int key = event.key();
  const auto with = event.modifiers() & ~Qt::KeypadModifier;
  if (key >= Qt::Key_1 && key <= Qt::Key_8 && (with == Qt::NoModifier || with == Qt::AltModifier))
    return selectByNumber;
  const auto* found = std::ranges::find_if(
      kActions, [&](const std::pair<Qt::Key, Action>& each) { return each.first == key; });
  return found == std::end(kActions) ? nullptr : found->second;
}

}  // namespace

bool isTransportKey(const QKeyEvent& event) {
  return actionFor(event) != nullptr;
}

bool applyKey(Viewing& viewing, const QKeyEvent& event) {
  const Action action = actionFor(event);
  if (action) action(viewing, event);
  return action != nullptr;
}

}  // namespace ringscope::viz

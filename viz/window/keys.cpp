// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/keys.h"

#include <algorithm>
#include <optional>

#include "viz/kit/plain_key.h"
#include "viz/scene/groups.h"

namespace ringscope::viz {
namespace {

constexpr double kSlowest = 0.25, kFastest = 8;

void movePass(Viewing& viewing, int direction) {
  const auto& trace = viewing.session.trace();
  const Cursor& cursor = viewing.navigator.cursor();
  const int pass =
      std::max(1, countRingSteps(trace, cursor.place, groupRanks(trace, cursor.group)));
  viewing.navigator.move(direction * pass);
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

void playOrHold(Viewing& viewing) {
  viewing.player.setPlaying(!viewing.player.playing());
}

void goToFirst(Viewing& viewing) {
  viewing.player.setFollowing(false);
  viewing.navigator.setMoment(0, 0);
}

void goToLast(Viewing& viewing) {
  viewing.player.goToHead();
}

void followOrNot(Viewing& viewing) {
  viewing.player.setFollowing(!viewing.player.following());
}

void changeAxis(Viewing& viewing) {
  Navigator& navigator = viewing.navigator;
  navigator.setAxis(navigator.cursor().axis == Axis::kTime ? Axis::kRingStep : Axis::kTime);
}

void selectNextGroup(Viewing& viewing) {
  const auto groups = static_cast<int>(listGroups(viewing.session.trace()).size());
  viewing.navigator.setGroup((viewing.navigator.cursor().group + 1) % std::max(1, groups));
}

void moveOrNot(Viewing& viewing) {
  viewing.player.setReducedMotion(!viewing.player.reducedMotion());
}

void goToDivergence(Viewing& viewing) {
  viewing.navigator.nextDivergence();
}

void playFaster(Viewing& viewing) {
  viewing.player.setSpeed(std::min(kFastest, viewing.player.speed() * 2));
}

void playSlower(Viewing& viewing) {
  viewing.player.setSpeed(std::max(kSlowest, viewing.player.speed() / 2));
}

using Action = void (*)(Viewing& viewing);

/// One key with exactly these modifiers.
struct TransportKey {
  Qt::Key key;
  Qt::KeyboardModifier with;
  const char* text;
  Action action;
};
constexpr TransportKey kTransportKeys[] = {
    {Qt::Key_Space, Qt::NoModifier, "Play or hold", playOrHold},
    {Qt::Key_Right, Qt::NoModifier, "Next ring step", [](Viewing& v) { v.navigator.move(1); }},
    {Qt::Key_Left, Qt::NoModifier, "Previous ring step", [](Viewing& v) { v.navigator.move(-1); }},
    {Qt::Key_Right, Qt::ShiftModifier, "Next pass", [](Viewing& v) { movePass(v, 1); }},
    {Qt::Key_Left, Qt::ShiftModifier, "Previous pass", [](Viewing& v) { movePass(v, -1); }},
    {Qt::Key_Right, Qt::ControlModifier, "Next training step",
     [](Viewing& v) { v.navigator.moveTrainStep(1); }},
    {Qt::Key_Left, Qt::ControlModifier, "Previous training step",
     [](Viewing& v) { v.navigator.moveTrainStep(-1); }},
    {Qt::Key_Home, Qt::NoModifier, "First ring step", goToFirst},
    {Qt::Key_End, Qt::NoModifier, "Last ring step", goToLast},
    {Qt::Key_F, Qt::NoModifier, "Follow the live head, or not", followOrNot},
    {Qt::Key_T, Qt::NoModifier, "Ring step axis or time axis", changeAxis},
    {Qt::Key_G, Qt::NoModifier, "Next group of ranks", selectNextGroup},
    {Qt::Key_R, Qt::NoModifier, "Next rank of the group", [](Viewing& v) { selectNext(v, false); }},
    {Qt::Key_R, Qt::ShiftModifier, "Previous rank of the group",
     [](Viewing& v) { selectNext(v, true); }},
    {Qt::Key_M, Qt::NoModifier, "With or without motion", moveOrNot},
    {Qt::Key_N, Qt::NoModifier, "Next divergence", goToDivergence},
    {Qt::Key_Plus, Qt::NoModifier, "Faster animation", playFaster},
    {Qt::Key_Equal, Qt::NoModifier, nullptr, playFaster},  // the key of + without Shift
    {Qt::Key_Minus, Qt::NoModifier, "Slower animation", playSlower},
};
constexpr int kDigits = 8;  // keys 1 to 8; with Alt they select the next eight ranks

/// Returns the seat of the group that a digit selects; nullopt for all other keys.
std::optional<std::size_t> seatFor(const QKeyEvent& event) {
  const auto with = event.modifiers() & ~Qt::KeypadModifier;
  if (event.key() < Qt::Key_1 || event.key() >= Qt::Key_1 + kDigits) return std::nullopt;
  if (with != Qt::NoModifier && with != Qt::AltModifier) return std::nullopt;
  return static_cast<std::size_t>(event.key() - Qt::Key_1 +
                                  (with == Qt::AltModifier ? kDigits : 0));
}

/// Returns the action of a key; null when it has none.
Action actionFor(const QKeyEvent& event) {
  const auto with = event.modifiers() & ~Qt::KeypadModifier;
  const auto* found = std::ranges::find_if(kTransportKeys, [&](const TransportKey& each) {
    return each.with == Qt::NoModifier ? plainKey(event) == each.key
                                       : event.key() == each.key && with == each.with;
  });
  return found == std::end(kTransportKeys) ? nullptr : found->action;
}

}  // namespace

bool isTransportKey(const QKeyEvent& event) {
  return seatFor(event) || actionFor(event);
}

bool applyKey(Viewing& viewing, const QKeyEvent& event) {
  if (const auto seat = seatFor(event)) {
    selectSeat(viewing, *seat);
    return true;
  }
  const Action action = actionFor(event);
  if (action) action(viewing);
  return action != nullptr;
}

std::vector<KeyCommand> keyCommands() {
  std::vector<KeyCommand> commands;
  for (const TransportKey& key : kTransportKeys)
    if (key.text) commands.push_back({key.text, QKeySequence(key.with | key.key), key.action});
  constexpr std::size_t kSeats = std::size_t{2} * kDigits;
  for (std::size_t seat = 0; seat < kSeats; ++seat) {
    const int digit = static_cast<int>(seat % kDigits);
    const auto with = seat < kDigits ? Qt::NoModifier : Qt::AltModifier;
    commands.push_back({QString("Select rank %1 of the group").arg(seat + 1),
                        QKeySequence(with | static_cast<Qt::Key>(Qt::Key_1 + digit)),
                        [seat](Viewing& viewing) { selectSeat(viewing, seat); }});
  }
  return commands;
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/session/player.h"

#include <cmath>

namespace ringscope::viz {

Player::Player(const Session& session, Navigator& navigator, QObject* parent)
    : QObject(parent), session_(session), navigator_(navigator) {
  connect(&session, &Session::dataChanged, this, [this] {
    if (following_) goToHead();
  });
  connect(&navigator, &Navigator::taken, this, [this] { setFollowing(false); });
  connect(&navigator, &Navigator::leaving, this, [this] { setPlaying(false); });
}

void Player::goToHead() {
  navigator_.setMoment(moments() - 1, 1);
}

void Player::setReducedMotion(bool reduced) {
  reduced_motion_ = reduced;
  if (reduced) navigator_.setMoment(navigator_.moment(), 1);
  Q_EMIT changed();
}

void Player::advanceWithoutMotion(double seconds) {
  still_for_ += seconds * speed_;
  if (still_for_ < kStepSeconds) return;
  still_for_ = 0;
  const int next = navigator_.moment() + 1;
  if (next < moments()) return navigator_.setMoment(next, 1);
  if (!session_.live()) setPlaying(false);
}

void Player::advance(double seconds) {
  if (!playing_ || session_.trace().moments().empty()) return;
  if (reduced_motion_) return advanceWithoutMotion(seconds);
  const double at =
      navigator_.moment() + navigator_.cursor().phase + seconds * speed_ / kStepSeconds;
  if (at >= moments()) {
    goToHead();
    if (!session_.live()) setPlaying(false);
    return;
  }
  const int moment = static_cast<int>(std::floor(at));
  navigator_.setMoment(moment, at - moment);
}

void Player::setPlaying(bool playing) {
  const bool at_end = navigator_.moment() + 1 == moments() && navigator_.cursor().phase >= 1;
  if (playing && at_end && !session_.live()) navigator_.setMoment(0, 0);
  if (playing) following_ = false;
  playing_ = playing;
  Q_EMIT changed();
}

void Player::setSpeed(double speed) {
  speed_ = speed;
  Q_EMIT changed();
}

void Player::setFollowing(bool following) {
  if (following_ == following) return;
  following_ = following;
  if (following) {
    playing_ = false;
    goToHead();
  }
  Q_EMIT changed();
}

}  // namespace ringscope::viz

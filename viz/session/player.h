// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>

#include "viz/session/navigator.h"

namespace ringscope::viz {

/// The clock that moves the cursor: playing at a speed of its own, whatever a ring step took; or
/// tied to the newest ring step of a live run.
class Player : public QObject {
  Q_OBJECT
 public:
  Player(const Session& session, Navigator& navigator, QObject* parent = nullptr);

  /// On the animation clock; stops playing at the end of a finished recording.
  void advance(double seconds);

  bool playing() const { return playing_; }
  void setPlaying(bool playing);
  double speed() const { return speed_; }
  void setSpeed(double speed);
  /// Tied to the live head.
  bool following() const { return following_; }
  void setFollowing(bool following);
  /// Without motion a ring step is shown as it ends, and playing goes from one to the next.
  bool reducedMotion() const { return reduced_motion_; }
  void setReducedMotion(bool reduced);
  /// To the end of the newest ring step.
  void goToHead();

 Q_SIGNALS:
  void changed();

 private:
  void advanceWithoutMotion(double seconds);
  int moments() const { return static_cast<int>(session_.trace().moments().size()); }

  const Session& session_;
  Navigator& navigator_;
  bool playing_ = false;
  bool following_ = false;
  double speed_ = 1;
  bool reduced_motion_ = false;
  double still_for_ = 0;  // seconds that the shown ring step has stood, without motion
};

}  // namespace ringscope::viz

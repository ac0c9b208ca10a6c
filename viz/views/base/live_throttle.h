// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <functional>

#include "viz/session/session.h"

namespace ringscope::viz {

/// Makes a scene at most twice a second while a live run brings more of the same trace every frame.
/// Another trace is never made to wait.
class LiveThrottle {
 public:
  /// `make` is called by request(), at once or a little later.
  LiveThrottle(QObject* owner, const Session& session, std::function<void()> make)
      : session_(session), make_(std::move(make)) {
    late_.setSingleShot(true);
    QObject::connect(&late_, &QTimer::timeout, owner, [this] { makeNow(); });
  }
  void request() {
    constexpr int kBetweenMs = 500;
    const bool soon = session_.live() && generation_ == session_.generation() &&
                      since_made_.isValid() && since_made_.elapsed() < kBetweenMs;
    if (!soon) return makeNow();
    if (!late_.isActive()) late_.start(kBetweenMs - static_cast<int>(since_made_.elapsed()));
  }
  void makeNow() {
    late_.stop();
    since_made_.start();
    generation_ = session_.generation();
    make_();
  }

 private:
  const Session& session_;
  std::function<void()> make_;
  QElapsedTimer since_made_;
  QTimer late_;
  int generation_ = -1;  // of the trace that make() has seen last
};

}  // namespace ringscope::viz

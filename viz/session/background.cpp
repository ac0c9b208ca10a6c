// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/session/background.h"

#include "viz/session/problem.h"

namespace ringscope::viz {

Background::~Background() {
  for (auto& [id, thread] : threads_) thread.request_stop();
  threads_.clear();  // joins; values that are still queued for this object go with it
}

void Background::cancel(const QString& kind) {
  const auto found = newest_.find(kind);
  if (found == newest_.end()) return;
  threads_.at(found->second).request_stop();
  newest_.erase(found);
}

void Background::start(const QString& kind, Make make, Use use) {
  cancel(kind);
  const int id = next_id_++;
  newest_[kind] = id;
  threads_[id] = std::jthread(
      [this, kind, id, make = std::move(make), use = std::move(use)](const std::stop_token& stop) {
        QMetaObject::invokeMethod(
            this, [=, this, made = made(make, stop)] { finish(kind, id, use, made); },
            Qt::QueuedConnection);
      });
}

Background::Made Background::made(const Make& make, std::stop_token stop) {
  try {
    return {make(std::move(stop)), {}};
  } catch (...) {
    return {{}, describeProblem(std::current_exception())};
  }
}

void Background::finish(const QString& kind, int id, const Use& use, const Made& made) {
  threads_.erase(id);  // it has nothing left to do but to return
  const auto found = newest_.find(kind);
  if (found == newest_.end() || found->second != id) return;
  newest_.erase(found);
  if (!made.problem.isEmpty()) return Q_EMIT failed(kind, made.problem);
  use(made.value);
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "tests/support/place_at.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/ring_scene.h"

namespace ringscope::test {

/// A trace and the scenes that are made from it.
struct IndexedTrace {
  explicit IndexedTrace(std::shared_ptr<traces::Trace> opened) : trace(std::move(opened)) {}
  viz::RingScene ring(const traces::Place& place, int rank = 0) const {
    return viz::makeRingScene(*trace, at(place, rank));
  }
  static viz::Cursor at(const traces::Place& place, int rank = 0) {
    viz::Cursor cursor;
    cursor.place = place;
    cursor.rank = traces::WorldRank::of(rank);
    return cursor;
  }

  std::shared_ptr<traces::Trace> trace;
};

inline viz::Cursor firstStep() {
  viz::Cursor cursor;
  cursor.place = forwardAt(0, 0);
  return cursor;
}

}  // namespace ringscope::test

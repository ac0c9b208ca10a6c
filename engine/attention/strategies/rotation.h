// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>

#include "engine/attention/schedule.h"
#include "engine/transport/group.h"

namespace ringscope::engine {

/// A packet that goes round a ring. While the held one is used, the next one is under way.
class Rotation {
 public:
  virtual ~Rotation() = default;
  /// The packet that is held now.
  virtual at::Tensor& held() = 0;
  /// Starts what brings the next packet; not pending when it is here already.
  virtual Exchange start() = 0;
  /// The next packet becomes the held one. Call when start()'s exchange is complete.
  virtual void advance() = 0;
};

/// `first` is this rank's own packet, contiguous; it stays untouched. Packets go to the schedule's
/// next rank by double buffering, except with kAllGather: then the first start() gathers them all.
std::unique_ptr<Rotation> makeRotation(Rotate rotate, const Group& group,
                                       const RingSchedule& schedule, at::Tensor first);

}  // namespace ringscope::engine

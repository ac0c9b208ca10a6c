// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/plan.h"
#include "engine/transport/group.h"
#include "engine/transport/rotation.h"

namespace ringscope::engine {

/// `first` is this rank's own packet, contiguous; it stays untouched. Packets go to the schedule's
/// next rank by double buffering, except with kAllGather: then the first start() gathers them all.
/// `p2p` says how a hop of kP2p is posted; an all-to-all is always posted at once.
std::unique_ptr<Rotation> makeRotation(Rotate rotate, const Group& group,
                                       const RingSchedule& schedule, at::Tensor first,
                                       traces::PointToPoint p2p = traces::PointToPoint::kBatched);

}  // namespace ringscope::engine

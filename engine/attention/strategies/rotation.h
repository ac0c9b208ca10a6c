// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/plan.h"
#include "engine/transport/group.h"
#include "engine/transport/rotation.h"

namespace ringscope::engine {

/// Makes a rotation. `first` is this rank's own packet, contiguous, and is not changed. Packets
/// move to the schedule's next rank with double buffering. With kAllGather, the first start()
/// gathers all packets instead. `p2p` says how a hop of kP2p is posted; an all-to-all is always
/// posted at once.
std::unique_ptr<Rotation> makeRotation(Rotate rotate, const Group& group,
                                       const RingSchedule& schedule, at::Tensor first,
                                       traces::PointToPoint p2p = traces::PointToPoint::kBatched);

}  // namespace ringscope::engine

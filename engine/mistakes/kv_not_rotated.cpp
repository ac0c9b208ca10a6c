// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"
#include "engine/mistakes/wrapped_rotation.h"

namespace ringscope::engine {
namespace {

class FirstPacketForever : public WrappedRotation {
 public:
  using WrappedRotation::WrappedRotation;
  void advance() override {}
};

}  // namespace

/// KV goes round, but attention uses the block that it began with at every ring step.
void injectKvNotRotated(Seams& seams) {
  seams.ring.kv = [](const SeamPlace&, const RingSchedule&, std::unique_ptr<Rotation> correct) {
    return std::make_unique<FirstPacketForever>(std::move(correct));
  };
}

}  // namespace ringscope::engine

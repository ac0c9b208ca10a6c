// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/transport/communicator.h"

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

}  // namespace ringscope::engine

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/transport/communicator.h"

namespace ringscope::engine {

/// A packet that rotates around a ring. While the held packet is used, the next one is in flight.
class Rotation {
 public:
  virtual ~Rotation() = default;
  /// Returns the packet that is held now.
  virtual at::Tensor& held() = 0;
  /// Starts the exchange that brings the next packet. The exchange is empty if the packet is
  /// present already.
  virtual Exchange start() = 0;
  /// Makes the next packet the held one. Call it after start()'s exchange is complete.
  virtual void advance() = 0;
};

}  // namespace ringscope::engine

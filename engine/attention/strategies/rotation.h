// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "engine/transport/communicator.h"

namespace ringscope::engine {

/// A packet that goes round the ring by double buffering: while the one that is held is used and
/// sent on, the next one arrives in the other buffer. The first packet stays untouched.
class Rotation {
 public:
  /// `first` is this rank's own packet, contiguous.
  Rotation(Communicator& cp, int next_rank, int previous_rank, at::Tensor first);

  /// The packet that is held now.
  at::Tensor& held() { return held_; }
  /// Starts sending the held packet on and receiving the next one.
  Exchange start();
  /// The received packet becomes the held one. Call when start()'s exchange is complete.
  void advance();

 private:
  Communicator& cp_;
  int next_rank_, previous_rank_;
  at::Tensor held_, arriving_;
  std::array<at::Tensor, 2> buffers_;
  int turn_ = 0;
};

}  // namespace ringscope::engine

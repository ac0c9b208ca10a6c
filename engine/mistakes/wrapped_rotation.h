// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "engine/transport/rotation.h"

namespace ringscope::engine {

/// A rotation that does what the wrapped one does, except for the calls that a mistake overrides.
class WrappedRotation : public Rotation {
 public:
  explicit WrappedRotation(std::unique_ptr<Rotation> correct) : correct_(std::move(correct)) {}
  at::Tensor& held() override { return correct_->held(); }
  Exchange start() override { return correct_->start(); }
  void advance() override { correct_->advance(); }

 protected:
  std::unique_ptr<Rotation> correct_;
};

}  // namespace ringscope::engine

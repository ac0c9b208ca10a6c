// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"
#include "engine/mistakes/wrapped_rotation.h"

namespace ringscope::engine {
namespace {

class SentByMemory : public WrappedRotation {
 public:
  explicit SentByMemory(std::unique_ptr<Rotation> correct)
      : WrappedRotation(std::move(correct)), own_(correct_->held()) {
    at::Tensor sent = own_.clone();
    sent[0].copy_(own_[0].transpose(1, 2).contiguous().view(own_[0].sizes()));
    correct_->held() = sent;
  }
  at::Tensor& held() override { return hops_ == 0 ? own_ : correct_->held(); }
  void advance() override {
    ++hops_;
    correct_->advance();
  }

 private:
  at::Tensor own_;
  int hops_ = 0;
};

}  // namespace

/// K is sent from memory in which heads lie within tokens as if tokens lay within heads; the rank's
/// own block is read by its strides and is right.
void injectNonContiguousKv(Seams& seams) {
  seams.ring.kv = [](const SeamPlace&, const RingSchedule&,
                     std::unique_ptr<Rotation> correct) -> std::unique_ptr<Rotation> {
    const at::Tensor& first = correct->held();
    // FP8's messages are bytes; a gather may begin with a block that is not here yet.
    if (!first.defined() || first.dim() != 5) return correct;
    return std::make_unique<SentByMemory>(std::move(correct));
  };
}

}  // namespace ringscope::engine

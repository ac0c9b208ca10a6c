// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/verification_queue.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <unistd.h>

#include "engine/observe/observer.h"

namespace ringscope::engine {

VerificationQueue::VerificationQueue(
    StepVerifier verifier, traces::Recorder* recorder, CapturePolicy policy,
    std::function<void(const std::vector<traces::DiffRecord>&)> on_done)
    : verifier_(std::move(verifier)),
      recorder_(recorder),
      policy_(policy),
      on_done_(std::move(on_done)) {}

VerificationQueue::~VerificationQueue() {
  if (running_.valid()) running_.wait();
}

bool VerificationQueue::busyBefore(std::int32_t train_step) const {
  return comparing_ < train_step;
}

void VerificationQueue::await() {
  if (running_.valid()) running_.get();
}

void VerificationQueue::submit(Step step) {
  await();
  comparing_ = step.train_step;
  running_ = std::async(std::launch::async, [this, step = std::move(step)] {
    // The ranks share these cores, and whoever pauses the run waits for them. On Linux this is the
    // niceness of this thread and of those that it starts.
    (void)!::nice(5);
    const std::size_t before = diffs_.size();
    struct Done {
      VerificationQueue& queue;
      std::size_t before;
      ~Done() {
        queue.comparing_ = kNone;
        queue.on_done_(
            {queue.diffs_.begin() + static_cast<std::ptrdiff_t>(before), queue.diffs_.end()});
      }
    } done{*this, before};
    compare(step);
  });
}

void VerificationQueue::compare(const Step& step) {
  at::set_num_threads(1);
  Observer observer(WorldRank::of(0), recorder_, policy_, nullptr);
  auto isolated = std::async(std::launch::async, [&] {
    at::set_num_threads(1);
    return verifier_.isolated(
        step.train_step, step.ranks, step.batch,
        [&](const std::string& name, const traces::Place& place, const at::Tensor& map) {
          observer.tensor(traces::TensorName::of(name), place, map);
        });
  });
  const auto unsharded = verifier_.unsharded(step.weights, step.batch,
                                             verifier_.gatherAttention(step.ranks, step.batch));
  auto [diffs, variances] = isolated.get();
  for (const auto& more : {compareUpdate(step.train_step, step.update),
                           verifier_.endToEnd(step.train_step, step.ranks, step.loss,
                                              step.update.norm, step.batch, unsharded, variances)})
    diffs.insert(diffs.end(), more.begin(), more.end());
  diffs_.insert(diffs_.end(), diffs.begin(), diffs.end());
  if (recorder_) recorder_->diffs(diffs);
}

std::vector<traces::DiffRecord> VerificationQueue::finish() {
  await();
  return std::move(diffs_);
}

}  // namespace ringscope::engine

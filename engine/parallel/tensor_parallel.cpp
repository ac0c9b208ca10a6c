// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel/tensor_parallel.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace ringscope::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

at::Tensor summed(Communicator& group, const at::Tensor& x) {
  at::Tensor sum = x.contiguous().clone();
  group.allReduceSum(sum, traces::Payload::kActivations);
  return sum;
}

/// Converts a communicator to a number that autograd can keep. Communicators outlive the graphs.
std::int64_t handle(Communicator* group) {
  return reinterpret_cast<std::int64_t>(group);
}
Communicator& groupFor(std::int64_t handle) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): autograd keeps numbers, and no pointers of ours
  return *reinterpret_cast<Communicator*>(handle);
}
Communicator& groupFor(AutogradContext* context) {
  return groupFor(context->saved_data["group"].toInt());
}

struct Copied : Function<Copied> {
  static Variable forward(AutogradContext* context, const Variable& x, std::int64_t group) {
    context->saved_data["group"] = group;
    return x.view_as(x);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    return {summed(groupFor(context), grads[0]), Variable()};
  }
};

struct Reduced : Function<Reduced> {
  static Variable forward(AutogradContext*, const Variable& x, std::int64_t group) {
    return summed(groupFor(group), x);
  }
  static variable_list backward(AutogradContext*, const variable_list& grads) {
    return {grads[0], Variable()};
  }
};

/// The labels that fall into this rank's rows of the vocabulary.
struct LocalTargets {
  at::Tensor mine;   ///< [N]: the target is one of this rank's rows
  at::Tensor index;  ///< [N]: the target's row on this rank, 0 if it has none
  at::Tensor is_target;
  LocalTargets(const at::Tensor& labels, std::int64_t first, std::int64_t count)
      : mine(at::logical_and(labels >= first, labels < first + count)),
        index((labels - first).masked_fill(at::logical_not(mine), 0)),
        is_target(labels >= 0) {}
};

struct CrossEntropySum : Function<CrossEntropySum> {
  static Variable forward(AutogradContext* context, const Variable& logits, const Variable& labels,
                          std::int64_t group) {
    Communicator& tp = groupFor(group);
    const std::int64_t count = logits.size(1);
    const LocalTargets targets(labels, tp.rank().value() * count, count);
    // Each rank writes its log-sum-exp into its own row. A log-sum-exp over the rows then needs no
    // maximum over ranks.
    at::Tensor parts = at::zeros({tp.size(), logits.size(0)}, logits.options());
    parts[tp.rank().value()].copy_(at::logsumexp(logits, -1));
    tp.allReduceSum(parts, traces::Payload::kActivations);
    const at::Tensor lse = at::logsumexp(parts, 0);
    at::Tensor score =
        logits.gather(1, targets.index.unsqueeze(1)).squeeze(1).masked_fill(~targets.mine, 0);
    tp.allReduceSum(score, traces::Payload::kActivations);
    at::Tensor slope = at::exp(logits - lse.unsqueeze(1));
    slope.scatter_add_(1, targets.index.unsqueeze(1),
                       -targets.mine.to(slope.scalar_type()).unsqueeze(1));
    slope.masked_fill_(~targets.is_target.unsqueeze(1), 0);
    context->save_for_backward({slope});
    return (lse - score).masked_fill(~targets.is_target, 0).sum();
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    return {context->get_saved_variables()[0] * grads[0], Variable(), Variable()};
  }
};

}  // namespace

TensorParallel::TensorParallel(Communicator& group) : group_(group.size() > 1 ? &group : nullptr) {}

at::Tensor TensorParallel::copied(const at::Tensor& x) const {
  return group_ ? Copied::apply(x, handle(group_)) : x;
}

at::Tensor TensorParallel::reduced(const at::Tensor& x) const {
  return group_ ? Reduced::apply(x, handle(group_)) : x;
}

at::Tensor TensorParallel::embedding(const at::Tensor& weight, const at::Tensor& ids) const {
  if (!group_) return at::embedding(weight, ids);
  const LocalTargets here(ids, rank().value() * weight.size(0), weight.size(0));
  return reduced(
      at::embedding(weight, here.index).masked_fill(at::logical_not(here.mine).unsqueeze(-1), 0));
}

at::Tensor TensorParallel::crossEntropySum(const at::Tensor& logits,
                                           const at::Tensor& labels) const {
  if (group_) return CrossEntropySum::apply(logits, labels, handle(group_));
  return at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum, -100);
}

void TensorParallel::sum(at::Tensor& x, traces::Payload payload) const {
  if (group_) group_->allReduceSum(x, payload);
}

}  // namespace ringscope::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel/tensor_parallel.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "traces/core/error.h"

namespace ringscope::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

at::Tensor summed(Communicator& group, const at::Tensor& x) {
  at::Tensor sum = x.contiguous().clone();
  group.allReduceSum(sum);
  return sum;
}

/// Communicators live longer than the graphs that point to them.
std::int64_t handle(Communicator* group) {
  return reinterpret_cast<std::int64_t>(group);
}
Communicator& groupOf(AutogradContext* context) {
  return *reinterpret_cast<Communicator*>(context->saved_data["group"].toInt());
}

struct Copied : Function<Copied> {
  static Variable forward(AutogradContext* context, const Variable& x, std::int64_t group) {
    context->saved_data["group"] = group;
    return x.view_as(x);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    return {summed(groupOf(context), grads[0]), Variable()};
  }
};

struct Reduced : Function<Reduced> {
  static Variable forward(AutogradContext*, const Variable& x, std::int64_t group) {
    return summed(*reinterpret_cast<Communicator*>(group), x);
  }
  static variable_list backward(AutogradContext*, const variable_list& grads) {
    return {grads[0], Variable()};
  }
};

/// What a rank knows of labels over its own rows of the vocabulary.
struct LocalTargets {
  at::Tensor mine;   ///< [N]: the target is among this rank's rows
  at::Tensor index;  ///< [N]: its row here, 0 where it is not
  at::Tensor is_target;
  LocalTargets(const at::Tensor& labels, std::int64_t first, std::int64_t count)
      : mine(at::logical_and(labels >= first, labels < first + count)),
        index((labels - first).masked_fill(at::logical_not(mine), 0)),
        is_target(labels >= 0) {}
};

struct CrossEntropySum : Function<CrossEntropySum> {
  static Variable forward(AutogradContext* context, const Variable& logits, const Variable& labels,
                          std::int64_t group) {
    Communicator& tp = *reinterpret_cast<Communicator*>(group);
    const std::int64_t count = logits.size(1);
    const LocalTargets targets(labels, tp.rank() * count, count);
    // Each rank's log-sum-exp in a row of its own, then all of them: no maximum needs reducing.
    at::Tensor parts = at::zeros({tp.size(), logits.size(0)}, logits.options());
    parts[tp.rank()].copy_(at::logsumexp(logits, -1));
    tp.allReduceSum(parts);
    const at::Tensor lse = at::logsumexp(parts, 0);
    at::Tensor score =
        logits.gather(1, targets.index.unsqueeze(1)).squeeze(1).masked_fill(~targets.mine, 0);
    tp.allReduceSum(score);
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

bool endsWith(const std::string& name, const std::string& end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

bool isKv(const std::string& name) {
  return name.find(".k_proj.") != std::string::npos || name.find(".v_proj.") != std::string::npos;
}

/// The dimension that a parameter is cut along; -1: every rank has all of it.
int slicedDim(const std::string& name) {
  for (const char* columns : {".q_proj.", ".k_proj.", ".v_proj.", ".gate_proj.", ".up_proj."})
    if (name.find(columns) != std::string::npos) return 0;
  if (endsWith(name, "embed_tokens.weight") || name == "lm_head.weight") return 0;
  if (endsWith(name, "o_proj.weight") || endsWith(name, "down_proj.weight")) return 1;
  return -1;
}

/// How many ranks hold each KV head.
int kvReplicas(const LlamaConfig& config, int size) {
  return std::max(1, size / static_cast<int>(config.num_key_value_heads));
}

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
  const LocalTargets here(ids, rank() * weight.size(0), weight.size(0));
  return reduced(
      at::embedding(weight, here.index).masked_fill(at::logical_not(here.mine).unsqueeze(-1), 0));
}

at::Tensor TensorParallel::crossEntropySum(const at::Tensor& logits,
                                           const at::Tensor& labels) const {
  if (group_) return CrossEntropySum::apply(logits, labels, handle(group_));
  return at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum, -100);
}

at::Tensor TensorParallel::sliceOf(const std::string& name, const at::Tensor& full,
                                   const LlamaConfig& config) const {
  const int dim = slicedDim(name);
  if (!group_ || dim < 0) return full;
  const int copies = isKv(name) ? kvReplicas(config, size()) : 1;
  return full.chunk(size() / copies, dim)[static_cast<std::size_t>(rank() / copies)].contiguous();
}

void TensorParallel::sumReplicas(const std::string& name, at::Tensor& gradient,
                                 const LlamaConfig& config) const {
  const int copies = kvReplicas(config, size());
  if (!group_ || !isKv(name) || copies == 1) return;
  auto shape = gradient.sizes().vec();
  shape.insert(shape.begin(), size() / copies);
  at::Tensor heads = at::zeros(shape, gradient.options());
  heads[rank() / copies].copy_(gradient);
  group_->allReduceSum(heads);
  gradient.copy_(heads[rank() / copies]);
}

bool TensorParallel::countsInNorm(const std::string& name, const LlamaConfig& config) const {
  if (!group_) return true;
  if (slicedDim(name) < 0) return rank() == 0;
  return !isKv(name) || rank() % kvReplicas(config, size()) == 0;
}

void TensorParallel::check(const LlamaConfig& c, int size) {
  auto require = [&](bool fine, std::int64_t count, const std::string& what) {
    if (!fine)
      throw usageError(std::to_string(count) + " " + what + " do not divide among tp = " +
                       std::to_string(size) + " ranks; use a --tp that divides them");
  };
  require(c.num_attention_heads % size == 0, c.num_attention_heads, "query heads");
  require(c.num_key_value_heads % size == 0 || size % c.num_key_value_heads == 0,
          c.num_key_value_heads, "key-value heads");
  require(c.intermediate_size % size == 0, c.intermediate_size, "feed-forward columns");
  require(c.vocab_size % size == 0, c.vocab_size, "tokens of the vocabulary");
}

at::Tensor TensorParallel::joined(const std::string& name, const std::vector<at::Tensor>& slices,
                                  const LlamaConfig& config) {
  const int dim = slicedDim(name), size = static_cast<int>(slices.size());
  if (size == 1 || dim < 0) return slices.front();
  std::vector<at::Tensor> distinct;
  const int copies = isKv(name) ? kvReplicas(config, size) : 1;
  for (int r = 0; r < size; r += copies) distinct.push_back(slices[static_cast<std::size_t>(r)]);
  return at::cat(distinct, dim);
}

}  // namespace ringscope::engine

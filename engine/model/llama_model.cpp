// SPDX-License-Identifier: Apache-2.0
#include "engine/model/llama_model.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "engine/kernels/sinks.h"
#include "engine/observe/memory_tracker.h"

namespace ringscope::engine {

using traces::Direction;
using traces::EventKind;

namespace {

/// Returns a new leaf with x's values: the border between two autograd segments.
at::Tensor leaf(const at::Tensor& x) {
  return x.detach().requires_grad_();
}

/// Splits [B, S, H·D] into [B, H, S, D].
at::Tensor heads(const at::Tensor& x, std::int64_t head_dim) {
  return x.view({x.size(0), x.size(1), -1, head_dim}).transpose(1, 2);
}

}  // namespace

LlamaModel::LlamaModel(const LlamaConfig& config, const LlamaWeights& weights,
                       AttentionOp& attention, Scope scope, LlamaOptions options)
    : config_(config),
      weights_(weights),
      attention_(attention),
      scope_(std::move(scope)),
      options_(std::move(options)) {}

at::Tensor LlamaModel::linear(const at::Tensor& x, Layer layer,
                              const std::string& projection) const {
  return at::linear(x, weights_.ofLayer(layer, projection + ".weight"),
                    weights_.biasFor(layer, projection));
}

at::Tensor LlamaModel::norm(const at::Tensor& x, const at::Tensor& weight) const {
  const at::Tensor wide = x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
  const at::Tensor scaled = wide * at::rsqrt(wide.pow(2).mean(-1, true) + config_.rms_norm_eps);
  if (config_.isGemma2()) return (scaled * (1 + weight.to(wide.scalar_type()))).to(x.scalar_type());
  return weight * scaled.to(x.scalar_type());
}

at::Tensor LlamaModel::embed(const at::Tensor& input_ids) const {
  at::Tensor embedded = options_.tp.embedding(weights_["model.embed_tokens.weight"], input_ids);
  if (config_.pad_token_id)
    embedded =
        at::where(input_ids.eq(*config_.pad_token_id).unsqueeze(-1), embedded.detach(), embedded);
  if (!config_.isGemma2()) return embedded;
  const double root = std::sqrt(static_cast<double>(config_.hidden_size));
  return embedded * at::full({}, root, embedded.options());
}

/// Returns the logits of the last layer's result.
at::Tensor LlamaModel::logitsFrom(const at::Tensor& hidden) const {
  const at::Tensor logits = at::linear(
      options_.tp.copied(norm(hidden, weights_["model.norm.weight"])), weights_.outputProjection());
  const double cap = config_.final_logit_softcapping;
  return cap > 0 ? at::tanh(logits / cap) * cap : logits;
}

at::Tensor LlamaModel::forward(const at::Tensor& input_ids, const at::Tensor& position_ids) {
  const auto layers = static_cast<std::size_t>(config_.num_hidden_layers);
  segments_.assign(layers, {});
  layers_.assign(layers, {});
  at::Tensor hidden;
  scope_(EventKind::kEmbed, Layer::none(), Direction::kForward, [&] {
    const auto type = weights_.outputProjection().scalar_type();
    at::Tensor of_cos = position_ids, of_sin = position_ids;
    options_.hooks.rotary(of_cos, of_sin);
    const auto made_in = options_.rotary_type.value_or(type);
    rotary_ = Rotary::of(of_cos, config_, made_in);
    if (!of_sin.is_same(of_cos)) rotary_.sin = Rotary::of(of_sin, config_, made_in).sin;
    rotary_ = {rotary_.cos.to(type), rotary_.sin.to(type)};
    embedded_ = embed(input_ids);
    options_.hooks.embedded(embedded_);
    hidden = embedded_;
  });
  for (Layer layer = Layer::of(0); layer.index() < layers; layer = layer.next()) {
    Segments& s = segments_[layer.index()];
    s.input = leaf(hidden);
    const at::AutoGradMode keeps_graph(!options_.recompute);
    scope_(EventKind::kProject, layer, Direction::kForward, [&] { project(s, layer); });
    attend(s, layer);
    scope_(EventKind::kFeedForward, layer, Direction::kForward, [&] { feedForward(s, layer); });
    hidden = s.output;
    if (options_.recompute) forget(layer);
  }
  last_hidden_ = leaf(hidden);
  scope_(EventKind::kLoss, Layer::none(), Direction::kForward,
         [&] { logits_ = logitsFrom(last_hidden_); });
  return logits_.detach();
}

void LlamaModel::project(Segments& s, Layer layer) const {
  const at::Tensor x =
      options_.tp.copied(norm(s.input, weights_.ofLayer(layer, "input_layernorm.weight")));
  auto projected = [&](const char* name) {
    return heads(linear(x, layer, name), config_.head_dim);
  };
  auto normed = [&](const at::Tensor& of_heads, const char* name) {
    return config_.head_norm ? norm(of_heads, weights_.ofLayer(layer, name)) : of_heads;
  };
  {
    const MemoryScope memory(MemoryCategory::kQ);
    s.q = rotary_.apply(normed(projected("self_attn.q_proj"), "self_attn.q_norm.weight"));
  }
  const MemoryScope memory(MemoryCategory::kKv);
  s.k = rotary_.apply(normed(projected("self_attn.k_proj"), "self_attn.k_norm.weight"));
  s.v = projected("self_attn.v_proj");
}

void LlamaModel::attend(Segments& s, Layer layer) {
  LayerAttention& a = layers_[layer.index()];
  a.q = s.q.detach();
  a.k = s.k.detach();
  a.v = s.v.detach();
  const at::Tensor sinks = weights_.sinksFor(layer);
  attention_.setSinks(sinks.defined() ? sinks.detach() : sinks);
  if (sinks.defined()) a.sinks = sinks.detach().clone().unsqueeze(0);
  const AttentionResult result = attention_.forward(a.q, a.k, a.v, layer);
  a.out = result.out;
  a.lse = result.lse;
  s.out = leaf(result.out.to(a.q.scalar_type()));
}

void LlamaModel::feedForward(Segments& s, Layer layer) const {
  const at::Tensor joined = s.out.transpose(1, 2).reshape({s.out.size(0), s.out.size(2), -1});
  at::Tensor attended =
      options_.tp.reduced(at::linear(joined, weights_.ofLayer(layer, "self_attn.o_proj.weight")));
  if (const at::Tensor bias = weights_.biasFor(layer, "self_attn.o_proj"); bias.defined())
    attended = attended + bias;
  const auto normed = [&](const at::Tensor& x, const char* name) {
    return norm(x, weights_.ofLayer(layer, name));
  };
  const bool gemma2 = config_.isGemma2();
  if (gemma2) attended = normed(attended, "post_attention_layernorm.weight");
  const at::Tensor x = s.input + attended;
  const at::Tensor y = options_.tp.copied(
      normed(x, gemma2 ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight"));
  const at::Tensor gate = linear(y, layer, "mlp.gate_proj");
  const at::Tensor fed = options_.tp.reduced(
      linear((gemma2 ? at::gelu(gate, "tanh") : at::silu(gate)) * linear(y, layer, "mlp.up_proj"),
             layer, "mlp.down_proj"));
  s.output = x + (gemma2 ? normed(fed, "post_feedforward_layernorm.weight") : fed);
}

void LlamaModel::forget(Layer layer) {
  Segments& s = segments_[layer.index()];
  LayerAttention& a = layers_[layer.index()];
  s.q = s.k = s.v = s.output = a.q = a.k = a.v = at::Tensor();
}

/// Recomputes a layer's forward with its graph. The attention result was kept.
void LlamaModel::remember(Layer layer) {
  Segments& s = segments_[layer.index()];
  LayerAttention& a = layers_[layer.index()];
  project(s, layer);
  options_.hooks.recomputed(layer, s.q, s.k, s.v);
  feedForward(s, layer);
  a.q = s.q.detach();
  a.k = s.k.detach();
  a.v = s.v.detach();
}

/// Adds the sinks' gradient for this rank's rows. The gradient sync adds the other ranks' rows.
void LlamaModel::addSinkGradient(Layer layer) {
  const at::Tensor sinks = weights_.sinksFor(layer);
  if (!sinks.defined()) return;
  LayerAttention& a = layers_[layer.index()];
  a.dsinks = sinkGradient(sinks.detach(), a.dout, {a.out, a.lse}).unsqueeze(0);
  sinks.mutable_grad().add_(a.dsinks[0].to(sinks.scalar_type()));
}

at::Tensor LlamaModel::lossSum(const at::Tensor& labels) {
  const auto type = logits_.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  loss_ = options_.tp.crossEntropySum(logits_.flatten(0, 1).to(type), labels.reshape({-1}));
  return loss_.detach();
}

void LlamaModel::backward(double scale) {
  scope_(EventKind::kLoss, Layer::none(), Direction::kBackward,
         [&] { torch::autograd::backward({loss_}, {at::full_like(loss_, scale)}); });
  at::Tensor grad = last_hidden_.grad();
  for (auto l = Layer::of(segments_.size()).previous(); l.exists(); l = l.previous())
    grad = backwardLayer(l, grad);
  scope_(EventKind::kEmbed, Layer::none(), Direction::kBackward, [&] {
    // Without a graph the gradient cannot reach the embeddings, and they get none.
    if (embedded_.requires_grad()) torch::autograd::backward({embedded_}, {grad});
  });
  logits_ = loss_ = last_hidden_ = embedded_ = at::Tensor();
}

at::Tensor LlamaModel::backwardLayer(Layer layer, const at::Tensor& grad_output) {
  Segments& s = segments_[layer.index()];
  LayerAttention& a = layers_[layer.index()];
  scope_(EventKind::kFeedForward, layer, Direction::kBackward, [&] {
    if (options_.recompute) remember(layer);
    torch::autograd::backward({s.output}, {grad_output});
  });
  a.dout = s.out.grad();
  const AttentionGradients g = attention_.backward(a.dout, a.q, a.k, a.v, {a.out, a.lse}, layer);
  a.dq = g.dq;
  a.dk = g.dk;
  a.dv = g.dv;
  addSinkGradient(layer);
  const auto type = s.q.scalar_type();
  scope_(EventKind::kProject, layer, Direction::kBackward, [&] {
    torch::autograd::backward({s.q, s.k, s.v}, {a.dq.to(type), a.dk.to(type), a.dv.to(type)});
  });
  at::Tensor grad = s.input.grad();
  s = {};
  return grad;
}

}  // namespace ringscope::engine

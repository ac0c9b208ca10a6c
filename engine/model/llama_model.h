// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/kernels/attention_op.h"
#include "engine/model/llama_config.h"
#include "engine/model/llama_weights.h"
#include "engine/model/rotary.h"
#include "engine/parallel/tensor_parallel.h"
#include "traces/format/schema/event.h"

namespace ringscope::engine {

/// Everything that attention of one layer saw and gave on this rank, as recorded and compared.
/// q, out, dout, dq: [B, Hq, S, D]; k, v, dk, dv: [B, Hkv, S, D]; lse: [B, Hq, S]. With
/// attention sinks their logits too, and in fp64 this rank's part of their gradient: [1, Hq].
struct LayerAttention {
  at::Tensor q, k, v, out, lse, dout, dq, dk, dv;
  at::Tensor sinks{}, dsinks{};
};

/// What may change values that the model has computed. By default nothing does.
struct LlamaHooks {
  /// The position ids, [B, S], from which cos and sin of the rotary embedding are made.
  std::function<void(at::Tensor& of_cos, at::Tensor& of_sin)> rotary = [](at::Tensor&,
                                                                          at::Tensor&) {};
  /// The embedded tokens, [B, S, hidden].
  std::function<void(at::Tensor& embedded)> embedded = [](at::Tensor&) {};
  /// q, k, v of a layer that backward has computed again.
  std::function<void(Layer layer, at::Tensor& q, at::Tensor& k, at::Tensor& v)> recomputed =
      [](Layer, at::Tensor&, at::Tensor&, at::Tensor&) {};
};

/// How a rank runs the model.
struct LlamaOptions {
  TensorParallel tp;
  /// Keep each layer's input and attention result only, and compute the rest again in backward
  /// (Chen et al. 2016, arXiv:1604.06174). Changes no number.
  bool recompute = false;
  LlamaHooks hooks{};
  /// The type in which cos and sin of the rotary embedding are made; nothing: that of the weights.
  std::optional<at::ScalarType> rotary_type{};
};

/// A Llama causal LM over one rank's tokens. Attention lies outside autograd: each layer is two
/// autograd segments with the AttentionOp between them, and backward visits them in reverse on the
/// calling thread. So ring steps never run on an autograd thread, and a debugger can hold them.
/// Belongs to one thread. One forward, then one backward.
class LlamaModel {
 public:
  /// Called around each part with its event kind and layer (none outside layers); runs `work` once.
  using Scope = std::function<void(traces::EventKind kind, Layer layer, traces::Direction direction,
                                   const std::function<void()>& work)>;

  /// All references outlive this.
  LlamaModel(const LlamaConfig& config, const LlamaWeights& weights, AttentionOp& attention,
             Scope scope, LlamaOptions options = {});

  /// input_ids, position_ids: [B, S]. Returns logits [B, S, vocab / tp] in the weights' type.
  at::Tensor forward(const at::Tensor& input_ids, const at::Tensor& position_ids);
  /// Sum over targets of the cross entropy; labels [B, S], already shifted, -100 ignored. fp32
  /// (fp64).
  at::Tensor lossSum(const at::Tensor& labels);
  /// Gradients of lossSum · `scale` into the weights' .grad.
  void backward(double scale);

  const std::vector<LayerAttention>& attention() const { return layers_; }
  const Rotary& rotary() const { return rotary_; }

 private:
  struct Segments {
    at::Tensor input;    // leaf [B, S, hidden]
    at::Tensor q, k, v;  // outputs of the first segment
    at::Tensor out;      // leaf, input of the second segment
    at::Tensor output;   // of the second segment
  };
  at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) const;
  at::Tensor linear(const at::Tensor& x, Layer layer, const std::string& projection) const;
  void project(Segments& s, Layer layer) const;
  void feedForward(Segments& s, Layer layer) const;
  void attend(Segments& s, Layer layer);
  void addSinkGradient(Layer layer);
  void forget(Layer layer);
  void remember(Layer layer);
  at::Tensor backwardLayer(Layer layer, const at::Tensor& grad_output);

  const LlamaConfig& config_;
  const LlamaWeights& weights_;
  AttentionOp& attention_;
  Scope scope_;
  LlamaOptions options_;
  Rotary rotary_;
  at::Tensor embedded_, last_hidden_, logits_, loss_;
  std::vector<Segments> segments_;
  std::vector<LayerAttention> layers_;
};

}  // namespace ringscope::engine

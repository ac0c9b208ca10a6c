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

/// The inputs and results of one layer's attention on this rank, as recorded and compared. The
/// shapes of q, out, dout and dq are [B, Hq, S, D]. The shapes of k, v, dk and dv are
/// [B, Hkv, S, D], and lse has [B, Hq, S]. With attention sinks, the struct also has their logits
/// and this rank's part of their gradient in fp64, [1, Hq].
struct LayerAttention {
  at::Tensor q, k, v, out, lse, dout, dq, dk, dv;
  at::Tensor sinks{}, dsinks{};
};

/// Functions that may change values of the model. By default nothing changes.
struct LlamaHooks {
  /// Changes the position ids, [B, S], from which cos and sin of the rotary embedding are computed.
  std::function<void(at::Tensor& of_cos, at::Tensor& of_sin)> rotary = [](at::Tensor&,
                                                                          at::Tensor&) {};
  /// Changes the embedded tokens, [B, S, hidden].
  std::function<void(at::Tensor& embedded)> embedded = [](at::Tensor&) {};
  /// Changes q, k, v of a layer that backward has recomputed.
  std::function<void(Layer layer, at::Tensor& q, at::Tensor& k, at::Tensor& v)> recomputed =
      [](Layer, at::Tensor&, at::Tensor&, at::Tensor&) {};
};

/// The options for running the model on a rank.
struct LlamaOptions {
  TensorParallel tp;
  /// Keeps only each layer's input and attention result, and recomputes the rest in backward (Chen
  /// et al. 2016, arXiv:1604.06174). Results do not change.
  bool recompute = false;
  LlamaHooks hooks{};
  /// The type in which cos and sin of the rotary embedding are computed; nullopt: the weights'
  /// type.
  std::optional<at::ScalarType> rotary_type{};
};

/// A Llama causal LM over one rank's tokens. Attention runs outside autograd: each layer is two
/// autograd segments with the AttentionOp between them, and backward visits the segments in reverse
/// on the calling thread. Ring steps therefore never run on an autograd thread, and a debugger can
/// hold them. Belongs to one thread. Call forward once, then backward once.
class LlamaModel {
 public:
  /// A function that wraps each part of the model. Its arguments are the event kind and the layer
  /// (none outside layers). It must call `work` once.
  using Scope = std::function<void(traces::EventKind kind, Layer layer, traces::Direction direction,
                                   const std::function<void()>& work)>;

  /// Makes the model. All references must outlive it.
  LlamaModel(const LlamaConfig& config, const LlamaWeights& weights, AttentionOp& attention,
             Scope scope, LlamaOptions options = {});

  /// Computes logits [B, S, vocab / tp] in the weights' type. input_ids, position_ids: [B, S].
  at::Tensor forward(const at::Tensor& input_ids, const at::Tensor& position_ids);
  /// Computes the sum of the cross entropy over targets, in fp32 (fp64 for fp64 weights). labels:
  /// [B, S], already shifted, -100 is ignored.
  at::Tensor lossSum(const at::Tensor& labels);
  /// Adds the gradients of lossSum · `scale` to the weights' .grad.
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
  at::Tensor embed(const at::Tensor& input_ids) const;
  at::Tensor logitsFrom(const at::Tensor& hidden) const;
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

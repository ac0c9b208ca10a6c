// SPDX-License-Identifier: Apache-2.0
#include "engine/train/run_description.h"

#include <nlohmann/json.hpp>
#include <thread>

#include "engine/plan.h"
#include "traces/format/schema/attention_facts.h"
#include "traces/plan/run_rules.h"

namespace ringscope::engine {
namespace {

/// Adds the model's own window, if the run asks for no window and the window is shorter than its
/// sequences.
void addWindowOf(const LlamaConfig& model, traces::RunSpec& run) {
  const bool leaves_room = run.mask == traces::MaskKind::kCausal ||
                           (run.mask == traces::MaskKind::kDocuments && run.window == 0);
  if (!leaves_room || model.sliding_window == 0 || model.sliding_window >= run.seq_len) return;
  run.window = model.sliding_window;
  if (run.mask == traces::MaskKind::kCausal) run.mask = traces::MaskKind::kWindow;
}

}  // namespace

traces::RunSpec describeRun(const TrainConfig& c, const LlamaConfig& m,
                            const BatchSource& batches) {
  traces::RunSpec run = c;
  run.command = traces::Command::kTrain;
  run.window = Mask::of(c).window;
  run.seq_len = batches.sequenceLength();
  addWindowOf(m, run);
  run.batch = batches.batchSize();
  run.sinks = m.attention_sinks;
  run.model = {c.model_dir.empty() ? "sample" : c.model_dir,
               m.num_hidden_layers,
               m.hidden_size,
               m.num_attention_heads,
               m.num_key_value_heads,
               m.head_dim,
               m.vocab_size};
  run.cores = static_cast<std::int32_t>(std::thread::hardware_concurrency());
  run.balance = traces::chosenBalance(run);
  return run;
}

LayerMasks layerMasks(const TrainConfig& asked, const LlamaConfig& model,
                      const traces::RunSpec& run) {
  LayerMasks masks{Mask::of(run)};
  if (masks.mask.window != Mask::of(asked).window)
    masks.without_window = model.layers_without_window;
  return masks;
}

void recordScoreRules(const LlamaConfig& model, traces::Recorder& recorder) {
  const ScoreRule rule = model.scoreRule();
  if (model.isGemma2()) {
    nlohmann::json layers;
    for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
      nlohmann::json& facts = layers[std::to_string(layer)];
      facts = {{"scale", rule.scale}, {"scale_by", "model"}};
      if (rule.softcap > 0) facts["softcap"] = rule.softcap;
    }
    recorder.note(traces::kAttentionNote, layers.dump());
  }
  if (model.final_logit_softcapping > 0)
    recorder.note(traces::kLogitsNote,
                  nlohmann::json({{"softcap", model.final_logit_softcapping}}).dump());
}

std::map<std::string, std::string> lastingSettings(const traces::RunSpec& run,
                                                   const LlamaConfig& model,
                                                   const BatchSource& batches) {
  const auto text = [](auto value) { return nlohmann::json(value).dump(); };
  return {{"the data", text(batches.fingerprint())},
          {"the model", model.toJson(traces::name(run.dtype)).dump()},
          {"--dtype", traces::name(run.dtype)},
          {"--seq-len", text(run.seq_len)},
          {"--batch", text(run.batch)},
          {"--mask", traces::name(run.mask)},
          {"--window", text(run.window)},
          {"--dropout", text(run.dropout)},
          {"--seed", text(run.seed)},
          {"--lr", text(run.lr)},
          {"--weight-decay", text(run.weight_decay)},
          {"--max-norm", text(run.max_norm)}};
}

}  // namespace ringscope::engine

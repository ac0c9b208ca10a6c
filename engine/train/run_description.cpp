// SPDX-License-Identifier: Apache-2.0
#include "engine/train/run_description.h"

#include <ATen/ATen.h>

#include <thread>

namespace ringscope::engine {
namespace {

int ulyssesSize(const TrainSetup& setup) {
  return setup.config.attention.ulyssesSize(setup.config.cp,
                                            setup.model.num_attention_heads / setup.config.tp);
}

/// What the ranks of a ring hold once the sequence has been turned into heads.
ShardLayout attendedLayout(const TrainSetup& setup) {
  return setup.layout.joined(ulyssesSize(setup));
}

/// Position ids are global indices, as against counting from 0 in each packed document.
bool countsWholeSequence(const BatchSource& batches) {
  const at::Tensor ids = batches.batch(0).position_ids;
  return at::equal(ids, at::arange(ids.size(1), ids.options()).expand(ids.sizes()));
}

}  // namespace

nlohmann::json describeSchedule(const TrainSetup& setup) {
  nlohmann::json ranks = nlohmann::json::array();
  for (int rank = 0; rank < setup.config.cp; ++rank) {
    nlohmann::json stages = nlohmann::json::array();
    for (const RingStage& stage :
         ringSchedule(attendedLayout(setup), setup.config.mask, rank / ulyssesSize(setup)).stages) {
      nlohmann::json pieces = nlohmann::json::array();
      for (const Piece& p : stage.pieces)
        pieces.push_back({{"q", {p.q_begin, p.q_end}},
                          {"k", {p.k_begin, p.k_end}},
                          {"mask", traces::name(p.mask)}});
      stages.push_back({{"source_rank", stage.source_rank}, {"pieces", pieces}});
    }
    ranks.push_back(stages);
  }
  return ranks;
}

nlohmann::json describeRun(const TrainSetup& setup) {
  const TrainConfig& c = setup.config;
  const LlamaConfig& m = setup.model;
  nlohmann::json run = {{"command", "train"},
                        {"world_size", c.cp},  // of the recorded cp group
                        {"dp", c.dp},
                        {"tp", c.tp},
                        {"cp", c.cp},
                        {"balance", name(setup.layout.balance())},
                        {"mask", c.keep_documents ? "documents" : c.mask.name()},
                        {"window", c.mask.window},
                        {"dtype", c.dtype},
                        {"transport", c.transport},
                        {"launch", c.from_environment ? "env" : "threads"},
                        {"device", c.device},
                        {"cores", std::thread::hardware_concurrency()},
                        {"positions", countsWholeSequence(setup.batches) ? "global" : "documents"},
                        {"seq_len", setup.layout.length()},
                        {"batch", setup.batches.batchSize()},
                        {"steps", c.steps},
                        {"capture", c.capture},
                        {"verify", c.verify},
                        {"text", c.text_files},
                        {"tokens", c.token_file},
                        {"model",
                         {{"name", c.model_dir.empty() ? "sample" : c.model_dir},
                          {"layers", m.num_hidden_layers},
                          {"hidden_size", m.hidden_size},
                          {"heads", m.num_attention_heads / c.tp},
                          {"kv_heads", std::max<std::int64_t>(1, m.num_key_value_heads / c.tp)},
                          {"head_dim", m.head_dim},
                          {"vocab_size", m.vocab_size}}}};
  run.update(c.attention.describe(c.cp, m.num_attention_heads / c.tp));
  return run;
}

}  // namespace ringscope::engine

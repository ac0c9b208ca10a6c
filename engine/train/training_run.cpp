// SPDX-License-Identifier: Apache-2.0
#include "engine/train/training_run.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <thread>

#include "engine/data/sharded_batch.h"
#include "engine/train/rank_threads.h"
#include "engine/train/rank_trainer.h"
#include "engine/verify/verification_queue.h"
#include "traces/core/clock.h"
#include "traces/core/error.h"

namespace ringscope::engine {
namespace {

at::ScalarType scalarType(const std::string& name) {
  if (name == "float32") return at::kFloat;
  if (name == "float64") return at::kDouble;
  throw usageError("--dtype " + name +
                   " is not a type that training runs in; use float32 or float64");
}

std::unique_ptr<BatchSource> openBatches(const TrainConfig& config) {
  if (!config.token_file.empty()) return tokenFileBatches(config.token_file);
  if (config.text_files.empty())
    throw usageError("there is nothing to train on; give --text FILE or --tokens FILE");
  return textBatches(config.text_files, config.seq_len, config.batch, config.seed);
}

int ulyssesSize(const TrainSetup& setup) {
  return setup.config.attention.ulyssesSize(setup.config.cp, setup.model.num_attention_heads);
}

/// What the ranks of a ring hold once the sequence has been turned into heads.
ShardLayout attendedLayout(const TrainSetup& setup) {
  return setup.layout.joined(ulyssesSize(setup));
}

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

/// Position ids are global indices, as against counting from 0 in each packed document.
bool countsWholeSequence(const BatchSource& batches) {
  const at::Tensor ids = batches.batch(0).position_ids;
  return at::equal(ids, at::arange(ids.size(1), ids.options()).expand(ids.sizes()));
}

/// The run's public configuration. Nothing here may tell what was injected.
nlohmann::json describeRun(const TrainSetup& setup) {
  const TrainConfig& c = setup.config;
  const LlamaConfig& m = setup.model;
  nlohmann::json run = {{"command", "train"},
                        {"world_size", c.cp},
                        {"dp", 1},
                        {"tp", 1},
                        {"cp", c.cp},
                        {"balance", name(setup.layout.balance())},
                        {"mask", c.mask.name()},
                        {"window", c.mask.window},
                        {"dtype", c.dtype},
                        {"transport", c.transport},
                        {"launch", "threads"},
                        {"device", "cpu"},
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
                          {"heads", m.num_attention_heads},
                          {"kv_heads", m.num_key_value_heads},
                          {"head_dim", m.head_dim},
                          {"vocab_size", m.vocab_size}}}};
  run.update(c.attention.describe(c.cp, m.num_attention_heads));
  return run;
}

/// What the ranks of one run put together, step by step.
class SharedProgress {
 public:
  SharedProgress(const TrainSetup& setup, traces::Recorder* recorder, const TrainHooks& hooks,
                 std::shared_ptr<MemoryTracker> memory, Gate& gate)
      : setup_(setup),
        recorder_(recorder),
        hooks_(hooks),
        memory_(std::move(memory)),
        verification_(StepVerifier(setup.model, setup.layout, setup.config.mask, setup.type,
                                   setup.config.attention.fp8),
                      recorder, CapturePolicy::parse(setup.config.capture),
                      [this, &gate](const auto& diffs) {
                        if (hooks_.on_diffs) hooks_.on_diffs(diffs);
                        gate.poke();
                      }),
        reports_(static_cast<std::size_t>(setup.config.cp)),
        logits_(reports_.size()) {}

  TrainOutcome outcome;

  void runRank(RankContext& context, const LlamaWeights& initial) {
    RankTrainer trainer(context, setup_, initial);
    for (std::int32_t step = 0; step < setup_.config.steps; ++step) runStep(context, trainer, step);
    if (context.rank() == 0)
      for (const std::string& name : trainer.weights().names())
        outcome.weights[name] = trainer.weights()[name].detach().clone();
  }
  void finish() { outcome.diffs = verification_.finish(); }

 private:
  void runStep(RankContext& context, RankTrainer& trainer, std::int32_t step) {
    const std::int64_t begin = traces::steadyNow();
    const auto result = trainer.computeGradients(step);
    const std::int64_t computed = traces::steadyNow();
    if (setup_.config.verify || step == 0) collect(context, trainer, result, step);
    const std::int64_t resumed = traces::steadyNow();
    const double norm = trainer.update(step);
    if (context.rank() != 0) return;
    StepLog log{step,
                result.loss,
                norm,
                result.targets,
                static_cast<double>(computed - begin + traces::steadyNow() - resumed) * 1e-9,
                {}};
    for (int r = 0; r < setup_.config.cp; ++r) log.peak_bytes.push_back(memory_->peak(r).bytes);
    outcome.steps.push_back(log);
    if (recorder_) recorder_->note("step." + std::to_string(step), log.toJson().dump());
    if (hooks_.on_step) hooks_.on_step(log);
  }

  /// Every rank hands in what it has; rank 0 compares while the others wait.
  void collect(RankContext& context, RankTrainer& trainer, const RankTrainer::Result& result,
               std::int32_t step) {
    const auto rank = static_cast<std::size_t>(context.rank());
    const traces::Place place{step, -1, traces::Direction::kBackward};
    const StageScope scope(context.observer, traces::EventKind::kVerify, place);
    const MemoryScope memory(MemoryCategory::kVerify);
    context.arriveAt(place, [this, step] { return verification_.busyBefore(step); });
    reports_[rank] = trainer.report();
    logits_[rank] = result.logits;
    context.cp.barrier();
    if (rank == 0) {
      if (step == 0) keepFirstStep();
      if (setup_.config.verify)
        verification_.submit({step, std::move(reports_), result.loss,
                              trainer.weights().replica(setup_.type), setup_.batches.batch(step)});
      reports_.assign(static_cast<std::size_t>(setup_.config.cp), {});
    }
    context.cp.barrier();
  }

  void keepFirstStep() {
    outcome.logits = unshard(logits_, 1, setup_.layout);
    for (const auto& [name, grad] : reports_.front().gradients)
      outcome.gradients[name] = grad.clone();
  }

  const TrainSetup& setup_;
  traces::Recorder* recorder_;
  const TrainHooks& hooks_;
  std::shared_ptr<MemoryTracker> memory_;
  VerificationQueue verification_;
  std::vector<RankStep> reports_;
  std::vector<at::Tensor> logits_;
};

void recordPeaks(traces::Recorder& recorder, const MemoryTracker& memory, int ranks) {
  nlohmann::json peaks = nlohmann::json::array();
  for (int rank = 0; rank < ranks; ++rank) {
    const auto peak = memory.peak(rank);
    peaks.push_back(
        {{"rank", rank}, {"bytes", peak.bytes}, {"place", traces::describe(peak.place)}});
  }
  recorder.note("memory.peaks", peaks.dump());
}

}  // namespace

TrainOutcome runTraining(const TrainConfig& config, Gate& gate, traces::Recorder* recorder,
                         const TrainHooks& hooks) {
  const at::ScalarType type = scalarType(config.dtype);
  const LlamaConfig model =
      config.model_dir.empty() ? LlamaConfig() : LlamaConfig::load(config.model_dir);
  const auto batches = openBatches(config);
  if (batches->largestToken() >= model.vocab_size)
    throw inputError("token " + std::to_string(batches->largestToken()) +
                     " is outside the model's vocabulary of " + std::to_string(model.vocab_size));
  checkStrategy(config.attention, config.cp, model.num_attention_heads, model.num_key_value_heads);
  const ShardLayout layout(batches->sequenceLength(), config.cp,
                           chooseBalance(config.balance, config.mask, config.cp));
  Seams seams;
  for (const std::string& mistake : config.mistakes) inject(mistake, seams);
  const LlamaWeights initial = config.model_dir.empty()
                                   ? LlamaWeights::random(model, config.seed, type)
                                   : LlamaWeights::load(model, config.model_dir, type);
  const TrainSetup setup{config, model, layout, type, *batches};
  RankThreadOptions options;
  options.ranks = config.cp;
  options.timeout = config.timeout;
  options.transport = config.transport;
  options.recorder = recorder;
  options.capture = CapturePolicy::parse(config.capture);
  options.memory = std::make_shared<MemoryTracker>(config.cp);
  options.live = hooks.live;
  options.seams = &seams;
  options.at_gate = hooks.at_gate ? &hooks.at_gate : nullptr;
  if (recorder) {
    recorder->note("run", describeRun(setup).dump());
    recorder->note("schedule", describeSchedule(setup).dump());
  }
  SharedProgress progress(setup, recorder, hooks, options.memory, gate);
  progress.outcome.stopped = runRankThreads(
      options, gate, [&](RankContext& context) { progress.runRank(context, initial); });
  progress.finish();
  if (recorder) recordPeaks(*recorder, *options.memory, config.cp);
  return std::move(progress.outcome);
}

}  // namespace ringscope::engine

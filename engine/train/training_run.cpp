// SPDX-License-Identifier: Apache-2.0
#include "engine/train/training_run.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <filesystem>
#include <thread>

#include "engine/data/sharded_batch.h"
#include "engine/parallel/gather.h"
#include "engine/train/checkpoint.h"
#include "engine/train/rank_threads.h"
#include "engine/train/rank_trainer.h"
#include "engine/verify/gathered_step.h"
#include "engine/verify/verification_queue.h"
#include "traces/core/clock.h"
#include "traces/core/error.h"

namespace ringscope::engine {
namespace {

at::ScalarType scalarType(const std::string& name) {
  if (name == "float32") return at::kFloat;
  if (name == "float64") return at::kDouble;
  if (name == "bfloat16") return at::kBFloat16;
  throw usageError("--dtype " + name +
                   " is not a type that training runs in; use float32, float64 or bfloat16");
}

std::unique_ptr<Tokenizer> openTokenizer(const TrainConfig& config) {
  if (!config.tokenizer.empty()) return sentencePieceTokenizer(config.tokenizer);
  const std::string of_model = config.model_dir + "/tokenizer.model";
  if (!config.model_dir.empty() && std::filesystem::exists(of_model))
    return sentencePieceTokenizer(of_model);
  return byteTokenizer();
}

std::unique_ptr<BatchSource> openBatches(const TrainConfig& config) {
  if (!config.token_file.empty()) return tokenFileBatches(config.token_file, config.keep_documents);
  if (config.text_files.empty())
    throw usageError("there is nothing to train on; give --text FILE or --tokens FILE");
  return textBatches(
      config.text_files, *openTokenizer(config),
      {config.seq_len, config.batch, config.seed, config.keep_documents, config.separator});
}

/// The small model that runs have without --model, with a vocabulary that holds the tokens.
LlamaConfig sampleModel(const BatchSource& batches) {
  LlamaConfig model;
  constexpr std::int64_t kMultiple = 64;  // so that tensor parallelism divides it
  const std::int64_t needed = (batches.largestToken() / kMultiple + 1) * kMultiple;
  model.vocab_size = std::max(model.vocab_size, needed);
  return model;
}

int ulyssesSize(const TrainSetup& setup) {
  return setup.config.attention.ulyssesSize(setup.config.cp,
                                            setup.model.num_attention_heads / setup.config.tp);
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
        store_(setup.config.checkpoint_dir) {}

  TrainOutcome outcome;

  void runRank(RankContext& context, const LlamaWeights& initial,
               const std::optional<CheckpointInfo>& resumed) {
    RankTrainer trainer(context, setup_, initial);
    const auto first = static_cast<std::int32_t>(resumed ? resumed->next_step : 0);
    if (resumed) trainer.restore(store_, *resumed);
    for (std::int32_t step = first; step < setup_.config.steps; ++step) {
      runStep(context, trainer, step);
      const int every = setup_.config.checkpoint_every;
      const bool due = every > 0 && (step + 1) % every == 0;
      if (!setup_.config.checkpoint_dir.empty() && (due || step + 1 == setup_.config.steps))
        save(context, trainer, step + 1);
    }
    for (const std::string& name : trainer.weights().names())
      keepFull(context, name, trainer.weights()[name].detach(), outcome.weights);
  }
  void finish() { outcome.diffs = verification_.finish(); }

 private:
  void runStep(RankContext& context, RankTrainer& trainer, std::int32_t step) {
    const std::int64_t begin = traces::steadyNow();
    const auto result = trainer.computeGradients(step);
    const std::int64_t computed = traces::steadyNow();
    if (step == 0) keepFirstStep(context, trainer, result);
    if (setup_.config.verify) collect(context, trainer, result, step);
    const std::int64_t resumed = traces::steadyNow();
    const double norm = trainer.update(step);
    const auto peaks = peaksOfAll(context);
    if (context.worldRank() != 0) return;
    StepLog log{step,
                result.loss,
                norm,
                result.targets,
                static_cast<double>(computed - begin + traces::steadyNow() - resumed) * 1e-9,
                peaks};
    outcome.steps.push_back(log);
    if (recorder_) recorder_->note("step." + std::to_string(step), log.toJson().dump());
    if (hooks_.on_step) hooks_.on_step(log);
  }

  /// Peak bytes of every rank of the mesh, on every rank.
  std::vector<std::int64_t> peaksOfAll(RankContext& context) {
    const int rank = context.worldRank();
    at::Tensor peaks = at::zeros({context.groups.world().size()}, at::kLong);
    peaks[rank] = memory_->peak(rank).bytes;
    context.groups.world().allReduceSum(peaks);
    const auto* values = peaks.const_data_ptr<std::int64_t>();
    return {values, values + peaks.numel()};
  }

  /// A parameter of all tp ranks, put together on rank 0.
  void keepFull(RankContext& context, const std::string& name, const at::Tensor& slice,
                std::map<std::string, at::Tensor>& into) {
    if (context.groups.place().dp != 0 || context.groups.place().cp != 0) return;
    const auto slices = gatherToFirst(context.groups.tp(), slice);
    if (!slices.empty()) into[name] = TensorParallel::joined(name, slices, setup_.model);
  }

  void keepFirstStep(RankContext& context, const RankTrainer& trainer,
                     const RankTrainer::Result& result) {
    const MemoryScope memory(MemoryCategory::kVerify);
    const auto logits = gatherToFirst(context.groups.world(), result.logits);
    if (!logits.empty()) outcome.logits = fullLogits(context.groups.mesh(), logits);
    for (const auto& [name, grad] : trainer.gradients())
      keepFull(context, name, grad, outcome.gradients);
  }

  at::Tensor fullLogits(const Mesh& mesh, const std::vector<at::Tensor>& of_ranks) const {
    std::vector<at::Tensor> batches;
    for (int dp = 0; dp < mesh.dp; ++dp) {
      std::vector<at::Tensor> vocabulary;
      for (int tp = 0; tp < mesh.tp; ++tp) {
        std::vector<at::Tensor> shards;
        for (int cp = 0; cp < mesh.cp; ++cp)
          shards.push_back(of_ranks[static_cast<std::size_t>(mesh.rankOf({dp, tp, cp}))]);
        vocabulary.push_back(unshard(shards, 1, setup_.layout));
      }
      batches.push_back(at::cat(vocabulary, -1));
    }
    return at::cat(batches, 0);
  }

  /// Every rank writes its file; the first begins and ends the folder.
  void save(RankContext& context, const RankTrainer& trainer, std::int64_t next_step) {
    const CheckpointInfo info{context.groups.mesh(), name(setup_.layout.balance()), next_step,
                              setup_.config.seed, next_step};
    const bool first = context.worldRank() == 0;
    if (first) store_.begin(info);
    context.groups.world().barrier();
    store_.saveRank(info, context.worldRank(), trainer.state());
    context.groups.world().barrier();
    if (first) store_.finish(info);
    context.groups.world().barrier();
  }

  /// Every rank hands in what it has; the first compares beside the next step.
  void collect(RankContext& context, RankTrainer& trainer, const RankTrainer::Result& result,
               std::int32_t step) {
    const traces::Place place{step, -1, traces::Direction::kBackward};
    const StageScope scope(context.observer, traces::EventKind::kVerify, place);
    const MemoryScope memory(MemoryCategory::kVerify);
    context.arriveAt(place, [this, step] { return verification_.busyBefore(step); });
    auto reports = gatherStep(context.groups, trainer.report(), setup_.model);
    std::map<std::string, at::Tensor> weights;
    for (const std::string& name : trainer.weights().names())
      keepFull(context, name, trainer.weights()[name].detach(), weights);
    if (context.worldRank() != 0) return;
    const auto whole = [&](const std::string& name, const at::Tensor&) { return weights.at(name); };
    verification_.submit({step, std::move(reports), result.loss,
                          trainer.weights().replica(setup_.type, whole),
                          setup_.batches.batch(step)});
  }

  const TrainSetup& setup_;
  traces::Recorder* recorder_;
  const TrainHooks& hooks_;
  std::shared_ptr<MemoryTracker> memory_;
  VerificationQueue verification_;
  CheckpointStore store_;
};

/// Of the recorded ranks that ran in this process.
void recordPeaks(traces::Recorder& recorder, const MemoryTracker& memory, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    const auto peak = memory.peak(rank);
    if (peak.bytes == 0) continue;
    recorder.note(
        "memory.peak." + std::to_string(rank),
        nlohmann::json({{"bytes", peak.bytes}, {"place", traces::describe(peak.place)}}).dump());
  }
}

/// What a run needs of its mesh, said before anything starts.
void checkMesh(const TrainConfig& config, const LlamaConfig& model, const BatchSource& batches) {
  TensorParallel::check(model, config.tp);
  if (batches.batchSize() % config.dp != 0)
    throw usageError("a batch of " + std::to_string(batches.batchSize()) +
                     " sequences does not divide among dp = " + std::to_string(config.dp) +
                     " ranks; use a --batch that --dp divides");
  if (config.keep_documents && batches.batchSize() != config.dp)
    throw usageError(
        "the sequences of a batch have different documents, and a rank attends with one mask; use "
        "--batch " +
        std::to_string(config.dp) + " (one sequence for each dp rank) and a longer --seq-len");
  if (config.keep_documents && config.balance == "per_document")
    throw usageError(
        "--balance per_document deals tokens by documents, and those differ from step to step; "
        "use head_tail, striped or none");
  checkStrategy(config.attention, config.cp, model.num_attention_heads / config.tp,
                std::max<std::int64_t>(1, model.num_key_value_heads / config.tp));
}

std::optional<CheckpointInfo> checkpointToResume(const TrainConfig& config) {
  if (!config.resume) return std::nullopt;
  if (config.checkpoint_dir.empty())
    throw usageError("--resume goes on from --checkpoint DIR; give that too");
  auto info = CheckpointStore(config.checkpoint_dir).newest();
  if (!info) throw inputError(config.checkpoint_dir + ": there is no checkpoint to resume from");
  if (info->seed != config.seed)
    throw usageError("the checkpoint was made with --seed " + std::to_string(info->seed) +
                     ", which decides the order of blocks; resume with the same");
  if (info->next_step >= config.steps)
    throw usageError("the checkpoint has " + std::to_string(info->next_step) +
                     " steps behind it already; give more --steps than that");
  return info;
}

}  // namespace

TrainOutcome runTraining(const TrainConfig& config, Gate& gate, traces::Recorder* recorder,
                         const TrainHooks& hooks) {
  const at::ScalarType type = scalarType(config.dtype);
  const auto batches = openBatches(config);
  const LlamaConfig model =
      config.model_dir.empty() ? sampleModel(*batches) : LlamaConfig::load(config.model_dir);
  if (batches->largestToken() >= model.vocab_size)
    throw inputError("token " + std::to_string(batches->largestToken()) +
                     " is outside the model's vocabulary of " + std::to_string(model.vocab_size));
  checkMesh(config, model, *batches);
  checkTransport(config.transport, config.device,
                 config.from_environment ? 1 : config.mesh().worldSize());
  const auto resumed = checkpointToResume(config);
  const ShardLayout layout(batches->sequenceLength(), config.cp,
                           chooseBalance(config.balance, config.mask, config.cp));
  RunSwitches own_switches;
  RunSwitches& switches = hooks.switches ? *hooks.switches : own_switches;
  switches.begin(config.mistakes, CapturePolicy::parse(config.capture));
  const LlamaWeights initial = config.model_dir.empty()
                                   ? LlamaWeights::random(model, config.seed, type)
                                   : LlamaWeights::load(model, config.model_dir, type);
  const TrainSetup setup{config, model, layout, type, *batches};
  RankThreadOptions options;
  options.mesh = config.mesh();
  options.timeout = config.timeout;
  options.transport = config.transport;
  options.device = config.device;
  options.recorder = recorder;
  options.capture = CapturePolicy::parse(config.capture);
  options.memory = std::make_shared<MemoryTracker>(options.mesh.worldSize());
  options.live = hooks.live;
  options.switches = &switches;
  options.on_stuck = hooks.on_stuck;
  options.at_gate = hooks.at_gate ? &hooks.at_gate : nullptr;
  if (recorder) {
    recorder->note("run", describeRun(setup).dump());
    recorder->note("schedule", describeSchedule(setup).dump());
  }
  SharedProgress progress(setup, recorder, hooks, options.memory, gate);
  auto body = [&](RankContext& context) { progress.runRank(context, initial, resumed); };
  progress.outcome.model = model;
  progress.outcome.stopped =
      config.from_environment
          ? runRankProcess(options, RankEnvironment::read(options.mesh), gate, body)
          : runRankThreads(options, gate, body);
  progress.finish();
  if (recorder) recordPeaks(*recorder, *options.memory, config.cp);
  return std::move(progress.outcome);
}

}  // namespace ringscope::engine

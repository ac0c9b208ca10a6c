// SPDX-License-Identifier: Apache-2.0
#include "engine/train/training_run.h"

#include <filesystem>

#include "engine/train/rank_threads.h"
#include "engine/train/run_description.h"
#include "engine/train/shared_progress.h"
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

// SPDX-License-Identifier: Apache-2.0
#include "engine/train/training_run.h"

#include <filesystem>

#include "engine/data/joined_sequences.h"
#include "engine/data/padded_documents.h"
#include "engine/launch/rank_threads.h"
#include "engine/train/run_description.h"
#include "engine/train/shared_progress.h"
#include "engine/train/step_inputs.h"
#include "traces/format/core/error.h"
#include "traces/plan/run_rules.h"

namespace ringscope::engine {
namespace {

at::ScalarType scalarType(traces::DType type) {
  if (type == traces::DType::kFloat32) return at::kFloat;
  if (type == traces::DType::kFloat64) return at::kDouble;
  if (type == traces::DType::kBFloat16) return at::kBFloat16;
  throw usageError(std::string("--dtype ") + traces::name(type) +
                   " is not a type that training runs in; use float32, float64 or bfloat16");
}

std::unique_ptr<Tokenizer> openTokenizer(const TrainConfig& config) {
  if (!config.tokenizer.empty()) return sentencePieceTokenizer(config.tokenizer);
  const std::string of_model = config.model_dir + "/tokenizer.model";
  if (!config.model_dir.empty() && std::filesystem::exists(of_model))
    return sentencePieceTokenizer(of_model);
  return byteTokenizer();
}

bool dealsDocuments(const TrainConfig& config) {
  return config.keepsDocuments() && config.balance && traces::dealsDocuments(*config.balance);
}

std::unique_ptr<BatchSource> openBatches(const TrainConfig& config) {
  requireData(config);
  const TextOptions options{config.seq_len, config.batch, config.seed, config.keepsDocuments(),
                            config.separator};
  if (dealsDocuments(config)) {
    const std::int64_t unit = traces::lengthUnit(*config.balance, config.cp);
    if (!config.tokens.empty()) return wholeDocumentBatches(config.tokens, unit);
    return paddedTextBatches(config.text, *openTokenizer(config), options, unit);
  }
  if (!config.tokens.empty()) return tokenFileBatches(config.tokens, config.keepsDocuments());
  return textBatches(config.text, *openTokenizer(config), options);
}

/// Returns the batches that the ranks get. Each dp rank attends with one mask, so several sequences
/// with documents are joined into one.
std::unique_ptr<BatchSource> batchesOfRanks(std::unique_ptr<BatchSource> source,
                                            const TrainConfig& config) {
  const bool several = source->batchSize() > config.dp && source->batchSize() % config.dp == 0;
  if (!config.keepsDocuments() || !several) return source;
  return joinSequences(std::move(source), config.dp);
}

/// Returns the small model of runs without --model, whose vocabulary holds all tokens of the data.
LlamaConfig sampleModel(const BatchSource& batches) {
  LlamaConfig model;
  constexpr std::int64_t kMultiple = 64;  // so that tensor parallelism can divide it
  const std::int64_t needed = (batches.largestToken() / kMultiple + 1) * kMultiple;
  model.vocab_size = std::max(model.vocab_size, needed);
  return model;
}

/// Tells a dynamic rotary scaling how long whole sequences are. Throws usageError for documents,
/// whose lengths differ between batches.
void setSequenceLength(LlamaConfig& model, const TrainConfig& config, const BatchSource& batches) {
  if (!model.rope_scaling || model.rope_scaling->kind != RopeKind::kDynamic) return;
  if (config.keepsDocuments())
    throw usageError(
        "dynamic rotary scaling depends on the length of a sequence, which --mask documents leaves "
        "open; use another --mask");
  model.rope_scaling->sequence_length = batches.sequenceLength();
}

LlamaConfig modelOf(const TrainConfig& config, const BatchSource& batches) {
  LlamaConfig model =
      config.model_dir.empty() ? sampleModel(batches) : LlamaConfig::load(config.model_dir);
  if (config.sinks) model.attention_sinks = true;
  setSequenceLength(model, config, batches);
  if (batches.largestToken() >= model.vocab_size)
    throw inputError("token " + std::to_string(batches.largestToken()) +
                     " is outside the model's vocabulary of " + std::to_string(model.vocab_size));
  return model;
}

/// Returns the initial weights. Sinks that the folder lacks are drawn.
LlamaWeights weightsOf(const TrainConfig& config, const LlamaConfig& model, at::ScalarType type) {
  if (config.model_dir.empty()) return LlamaWeights::random(model, config.seed, type);
  const LlamaConfig stored = LlamaConfig::load(config.model_dir);
  LlamaWeights weights = LlamaWeights::load(stored, config.model_dir, type);
  if (model.attention_sinks && !stored.attention_sinks) weights.drawSinks(model, config.seed, type);
  return weights;
}

/// Records the peak memory of the ranks that ran in this process.
void recordPeaks(traces::Recorder& recorder, const MemoryTracker& memory, const Mesh& mesh) {
  for (const WorldRank rank : mesh.ranks()) {
    const auto peak = memory.peak(rank);
    if (peak.bytes == 0) continue;
    recorder.note(
        "memory.peak." + toString(rank),
        nlohmann::json({{"bytes", peak.bytes}, {"place", traces::describe(peak.place)}}).dump());
  }
}

/// Returns the run if it can be carried out. Throws usageError before anything starts.
traces::RunSpec checkedRun(const TrainConfig& config, const LlamaConfig& model,
                           const BatchSource& batches, const CheckSeams& checks) {
  traces::RunSpec run = describeRun(config, model, batches);
  if (const auto reason = checks.reasonAgainst(run)) throw usageError(*reason);
  LlamaSlices::check(model, config.tp);
  run.ulysses = traces::ulyssesSize(run);
  return run;
}

/// Throws if this run cannot resume from the checkpoint, because their settings differ.
void checkSettings(const CheckpointInfo& info, const std::map<std::string, std::string>& now) {
  // The model and the data come last and decide other settings, so they are checked first.
  for (auto at = now.rbegin(); at != now.rend(); ++at) {
    const auto& [setting, value] = *at;
    const auto then = info.settings.find(setting);
    if (then != info.settings.end() && then->second == value) continue;
    const bool is_option = setting.starts_with("--") && then != info.settings.end();
    std::string differs = "the run that made the checkpoint differs in " + setting;
    if (is_option) {
      differs = "the checkpoint was made with " + setting;
      differs.append(" ").append(then->second).append(", and this run has ").append(value);
    }
    throw usageError(differs + "; resume with the same, or begin anew without --resume");
  }
}

std::optional<Checkpoint> checkpointToResume(const TrainConfig& config,
                                             const std::map<std::string, std::string>& lasting) {
  if (!config.resume) return std::nullopt;
  if (config.checkpoint_dir.empty())
    throw usageError("--resume goes on from --checkpoint DIR; give that too");
  auto checkpoint = CheckpointStore(config.checkpoint_dir).newest();
  if (!checkpoint)
    throw inputError(config.checkpoint_dir + ": there is no checkpoint to resume from");
  const CheckpointInfo& info = checkpoint->info();
  checkSettings(info, lasting);
  if (info.next_step >= config.steps)
    throw usageError("the checkpoint has " + std::to_string(info.next_step) +
                     " steps behind it already; give more --steps than that");
  return checkpoint;
}

/// A run whose inputs are all known except for its weights.
struct PreparedRun {
  at::ScalarType type;
  std::int64_t each, sequences;  ///< length and number of sequences in the data
  std::shared_ptr<const BatchSource> batches;
  LlamaConfig model;
  Seams seams;  ///< at the start of the run
  traces::RunSpec run;
  std::map<std::string, std::string> lasting;
  std::optional<Checkpoint> resumed;
};

/// Prepares a run. Throws usageError or inputError if the run cannot work.
PreparedRun prepare(const TrainConfig& config, RunSwitches& switches) {
  PreparedRun p;
  p.type = scalarType(config.dtype);
  auto source = openBatches(config);
  p.each = source->sequenceLength();
  p.sequences = source->batchSize();
  p.batches = batchesOfRanks(std::move(source), config);
  p.model = modelOf(config, *p.batches);
  switches.begin(config.mistakes, CapturePolicy::parse(config.capture));
  p.seams = switches.seamsOfBeginning();
  p.run = checkedRun(config, p.model, *p.batches, p.seams.checks);
  traces::RunSpec asked = p.run;
  asked.seq_len = p.each;
  asked.batch = p.sequences;
  p.lasting = lastingSettings(asked, p.model, *p.batches);
  p.resumed = checkpointToResume(config, p.lasting);
  const auto first = static_cast<std::int32_t>(p.resumed ? p.resumed->info().next_step : 0);
  switches.goOnWith(p.run, plannedTraining(p.run, p.batches), first);
  return p;
}

RankThreadOptions optionsOf(const TrainConfig& config, traces::Recorder* recorder,
                            const TrainHooks& hooks, RunSwitches& switches) {
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
  return options;
}

}  // namespace

void requireData(const TrainConfig& config) {
  if (config.tokens.empty() && config.text.empty())
    throw usageError("there is nothing to train on; give --text FILE or --tokens FILE");
  if (!config.tokens.empty() && !config.text.empty())
    throw usageError("give either --text or --tokens, not both");
}

void checkTraining(const TrainConfig& config) {
  RunSwitches switches;
  prepare(config, switches);
}

TrainOutcome runTraining(const TrainConfig& config, Gate& gate, traces::Recorder* recorder,
                         const TrainHooks& hooks) {
  RunSwitches own_switches;
  RunSwitches& switches = hooks.switches ? *hooks.switches : own_switches;
  const PreparedRun prepared = prepare(config, switches);
  const auto& [type, each, sequences, batches, model, seams, run, lasting, resumed] = prepared;
  checkTransport(config.transport, config.device,
                 config.fromEnvironment() ? 1 : config.mesh().worldSize());
  const std::int64_t length = batches->sequenceLength();
  const ShardLayout layout = seams.buffers.layout(length, config.cp, *run.balance, {{0, length}});
  const LlamaWeights initial = weightsOf(config, model, type);
  const TrainSetup setup{config, run,  model,    layerMasks(config, model, run),
                         layout, type, *batches, lasting};
  const RankThreadOptions options = optionsOf(config, recorder, hooks, switches);
  if (recorder) {
    recorder->record(run);
    recordScoreRules(model, *recorder);
    for (const auto& group : options.mesh.groups(run.ulysses)) recorder->record(group);
  }
  SharedProgress progress(setup, recorder, hooks, options.memory, gate);
  auto body = [&](RankContext& context) { progress.runRank(context, initial, resumed); };
  progress.outcome.model = model;
  progress.outcome.stopped =
      config.fromEnvironment()
          ? runRankProcess(options, RankEnvironment::read(options.mesh), gate, body)
          : runRankThreads(options, gate, body);
  progress.finish();
  // Split sequences that were joined.
  if (at::Tensor& logits = progress.outcome.logits;
      logits.defined() && logits.numel() == sequences * each * model.vocab_size)
    logits = logits.reshape({sequences, each, -1});
  if (recorder) recordPeaks(*recorder, *options.memory, options.mesh);
  return std::move(progress.outcome);
}

}  // namespace ringscope::engine

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <thread>
#include <utility>

#include "app/command_line/columns.h"
#include "app/ringscope-engine/commands/attention_options.h"
#include "app/ringscope-engine/commands/real_number.h"
#include "app/ringscope-engine/commands/saved_outcome.h"
#include "app/ringscope-engine/commands/seed_number.h"
#include "app/ringscope-engine/peak_line.h"
#include "app/ringscope-engine/rank_processes.h"
#include "app/ringscope-engine/recording.h"
#include "app/ringscope-engine/stop_on_signal.h"
#include "engine/mistakes/registry.h"
#include "engine/observe/capture_policy.h"
#include "engine/train/training_run.h"
#include "engine/transport/rank_environment.h"
#include "traces/analysis/diff/summary.h"
#include "traces/format/core/error.h"
#include "traces/format/core/output_file.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/resources.h"
#include "traces/format/core/utf8.h"

namespace ringscope::app {
namespace {

struct TrainOptions : AttentionOptions {
  engine::TrainConfig config;
  std::string log, export_state, save_model, control;
};

/// A printer of steps, one line each: a table on standard output, and JSON lines in the log.
class StepPrinter {
 public:
  explicit StepPrinter(const TrainOptions& o)
      : table_(!o.json && o.control.empty()), log_path_(o.log) {}
  void operator()(const engine::StepLog& step) {
    if (!log_path_.empty()) writeLine(step);
    if (!table_) return;
    if (!std::exchange(has_heads_, true))
      std::cout << "  step        loss   grad norm   targets       time   peak memory\n";
    const std::int64_t peak = largestPeak(step.peak_bytes);
    std::cout << std::setw(6) << step.step << std::fixed << std::setprecision(6) << std::setw(12)
              << step.loss << std::setw(12) << step.grad_norm << std::setw(10) << step.targets
              << alignRight(traces::describeSeconds(step.seconds), 11)
              << alignRight(traces::describeBytes(peak), 13) << std::endl;
  }

 private:
  /// Writes a line of the log. The log of an earlier run stays until this run has done a step. A
  /// full disk ends the log, not the run.
  void writeLine(const engine::StepLog& step) {
    try {
      if (!log_) log_.emplace(log_path_);
      log_->stream() << step.toJson().dump() << std::endl;
      if (!log_->stream()) throw inputError("not all of it could be written");
      log_->publish();
    } catch (const Error& error) {
      std::cerr << "ringscope: the log is cut at step " << step.step << ": " << error.what()
                << "\n";
      log_.reset();
      log_path_.clear();
    }
  }

  bool table_, has_heads_ = false;
  std::string log_path_;  // empty: no log, or the log has ended
  std::optional<traces::OutputFile> log_;
};

void printReport(const TrainOptions& o, const engine::TrainOutcome& outcome) {
  const traces::DiffRecord* worst_diff = nullptr;
  for (const auto& diff : outcome.diffs) traces::keepWorse(worst_diff, diff);
  const double worst = worst_diff ? worst_diff->ratio : 0;
  if (o.json) {
    nlohmann::json json = {{"steps", nlohmann::json::array()},
                           {"stopped", outcome.stopped},
                           {"trace", traces::toUtf8(o.trace)}};
    for (const auto& step : outcome.steps) json["steps"].push_back(step.toJson());
    if (o.config.verify) json["worst_ratio"] = worst;
    json["buffers"] = traces::toJson(traces::chosenBuffers(o.config));
    if (!outcome.unseen_mistakes.empty()) json["changed_nothing"] = outcome.unseen_mistakes;
    std::cout << json.dump(2) << "\n";
  } else if (o.control.empty()) {
    if (outcome.stopped)
      std::cout << "stopped after "
                << traces::describeCount(static_cast<std::int64_t>(outcome.steps.size()), "step")
                << "\n";
    if (o.config.verify)
      std::cout << "worst error " << traces::describeMultiple(worst) << " its limit over "
                << traces::describeCount(static_cast<std::int64_t>(outcome.diffs.size()),
                                         "comparison")
                << "\n";
    for (const std::string& sentence : outcome.unseen_mistakes) std::cout << sentence << "\n";
    std::cout << describePeaks(outcome);
    if (!o.trace.empty()) std::cout << "trace: " << o.trace << "\n";
  }
}

/// Throws usageError if an output would overwrite a file that the run reads.
void checkFiles(const TrainOptions& o) {
  namespace fs = std::filesystem;
  std::vector<traces::NamedPath> inputs = {{"--tokenizer", o.config.tokenizer},
                                           {"--tokens", o.config.tokens}};
  for (const std::string& text : o.config.text) inputs.push_back({"--text", text});
  std::error_code error;
  if (!o.config.model_dir.empty())
    for (const auto& file : fs::directory_iterator(o.config.model_dir, error))
      inputs.push_back({"--model", file.path().string()});
  traces::checkOutputs(
      inputs, {{"--trace", o.trace}, {"--log", o.log}, {"--export-state", o.export_state}});
  o.checkTrace(o.config);
  for (const std::string& folder : {o.save_model, o.config.checkpoint_dir})
    if (!folder.empty()) traces::checkWritableFolder(folder);
  if (fs::is_directory(o.save_model, error))
    traces::checkOutputs(inputs, {{"--save-model", o.save_model + "/model.safetensors"},
                                  {"--save-model", o.save_model + "/config.json"}});
}

/// Returns the settings without those that only the token file contains.
traces::RunSpec knownSettings(const engine::TrainConfig& config) {
  traces::RunSpec known = config;
  if (config.tokens.empty()) return known;
  known.seq_len = 0;
  known.batch = known.dp;
  return known;
}

/// Rejects everything that can be rejected before a file is written or a thread started.
void validate(const TrainOptions& o) {
  const engine::TrainConfig& config = o.config;
  if (config.fromEnvironment() && !o.control.empty() && !Recording::isCollected())
    throw usageError(
        "--control speaks for ranks that this command starts; use --launch threads or processes");
  engine::requireData(config);
  checkFiles(o);
  if (config.resume && !o.export_state.empty())
    throw usageError(
        "--export-state writes what step 0 gave, and --resume goes on after it; leave one out");
  engine::CapturePolicy::parse(config.capture);
  engine::Seams seams;
  for (const auto& mistake : config.mistakes) engine::inject(mistake, seams);
  if (const auto reason = seams.checks.reasonAgainst(knownSettings(config)))
    throw usageError(*reason);
  // Otherwise each rank process would report the error.
  const bool apart = config.launch == traces::Launch::kProcesses;
  if (apart && !config.mistakes.empty()) engine::checkTraining(config);
}

int run(TrainOptions& o) {
  o.finish(o.config);
  o.config.timeout = std::chrono::seconds(o.timeout_seconds);
  for (auto& mistake : o.config.mistakes) mistake = engine::placed(mistake, o.config);
  validate(o);
  const engine::Mesh mesh = o.config.mesh();
  const std::string sealed =
      nlohmann::json({{"command_line", commandLine()}, {"mistakes", o.config.mistakes}}).dump();
  if (o.config.launch == traces::Launch::kProcesses)
    return runRankProcesses({mesh.worldSize(), std::chrono::seconds(o.timeout_seconds), o.trace,
                             !o.control.empty(), sealed, o.control == kHeld});
  const auto rank = o.config.fromEnvironment() ? engine::RankEnvironment::read(mesh).rank
                                               : traces::WorldRank::of(0);
  const bool first = rank == traces::WorldRank::of(0);
  auto gate = o.config.fromEnvironment() ? engine::Gate::inheritedOr(mesh.worldSize())
                                         : engine::Gate(mesh.worldSize());
  StopOnSignal stop(gate);
  if (!first) o.log.clear();
  const bool says = first && !o.json && o.control.empty() && !o.config.buffers.empty();
  if (says) std::cout << "buffers: " << describeBuffers(o.config) << "\n";
  StepPrinter printer(o);
  // Under torchrun every rank process writes its own file.
  if (o.config.fromEnvironment() && !o.trace.empty() && !Recording::isCollected())
    o.trace += "." + toString(rank);
  Recording recording(mesh.worldSize(), o.trace, !o.control.empty(), gate, knownSettings(o.config));
  recording.seal(sealed);
  while (o.control == kHeld && !recording.mayStart()) std::this_thread::sleep_for(kHeldFor);
  engine::TrainOutcome outcome;
  try {
    outcome = engine::runTraining(
        o.config, gate, recording.recorder(),
        {[&](const engine::StepLog& step) { printer(step); },
         {},
         [&](const std::vector<traces::DiffRecord>& diffs) { recording.diffsArrived(diffs); },
         [&](const std::string& sentence) { recording.giveUp(sentence); },
         recording.live(),
         recording.switches()});
  } catch (const Error& error) {
    recording.finish(error.what(), false);
    throw;
  }
  recording.finish("", outcome.stopped);
  if (!first) return kSuccess;
  if (!o.export_state.empty() && !outcome.stopped) exportState(o.export_state, outcome);
  if (!o.save_model.empty() && !outcome.stopped) saveModel(o.save_model, o.config.dtype, outcome);
  printReport(o, outcome);
  const bool diverges = std::ranges::any_of(outcome.diffs, traces::diverges);
  // Over the control connection diffs are displayed, so a completed run counts as a success.
  return diverges && o.control.empty() ? kAnswerIsNo : kSuccess;
}

/// Adds the options for the model and the data.
void addData(CLI::App& command, engine::TrainConfig& c) {
  command.add_option(
      "--model", c.model_dir,
      "The Hugging Face folder of a Llama, Mistral, Qwen2 or Qwen3 model (default: a small model "
      "with random weights). Its sliding_window is used unless --window is given");
  auto* text = command.add_option("--text", c.text, "Text files to train on");
  command
      .add_flag_callback(
          "--sample-text", [&c] { c.text = {traces::resourcePath("sample/text.txt")}; },
          "Train on the sample text that comes with RingScope")
      ->excludes(text);
  command.add_option("--tokenizer", c.tokenizer,
                     "The SentencePiece model for --text (default: tokenizer.model of --model, "
                     "otherwise one token per byte)");
  command.add_option("--separator", c.separator,
                     "The separator of documents in a text (default: each text is one document)");
  command.add_option("--tokens", c.tokens, "A safetensors file of input_ids, labels, position_ids");
  command.add_option("--steps", c.steps, "Number of training steps")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--seq-len", c.seq_len, "Number of tokens per sequence, with --text")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command.add_option("--batch", c.batch, "Sequences per batch over all dp ranks, with --text")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
}

/// Adds the options for the training itself.
void addNumbers(CLI::App& command, engine::TrainConfig& c) {
  addNamed(command, "--dtype", c.dtype, "Type of activations; bfloat16 keeps float32 weights",
           {"float32", "float64", "bfloat16"});
  command.add_option("--seed", c.seed, "Seed for weights, order of blocks, dropout, mistakes")
      ->check(seedNumber())
      ->capture_default_str();
  command.add_option("--lr", c.lr, "Learning rate")->check(realNumber())->capture_default_str();
  command.add_option("--weight-decay", c.weight_decay, "Weight decay of AdamW")
      ->check(realNumber())
      ->capture_default_str();
  command.add_option("--max-norm", c.max_norm, "Clip gradients to this norm")
      ->check(realNumber())
      ->capture_default_str();
  command
      .add_option("--dropout", c.dropout,
                  "Probability that a query-key pair is dropped. Uses plain matrix products, "
                  "because no fused CPU kernel supports dropout")
      ->check(CLI::Range(0.0, 0.99));
}

}  // namespace

void defineTrain(CLI::App& command, int& exit_code) {
  auto o = std::make_shared<TrainOptions>();
  auto& c = o->config;
  addData(command, c);
  command.add_option("--dp", c.dp, "Ranks that share the batch (default: DP_SIZE, otherwise 1)")
      ->envname("DP_SIZE")
      ->check(CLI::Range(1, 1024));
  command.add_option("--tp", c.tp, "Ranks that share each layer (default: TP_SIZE, otherwise 1)")
      ->envname("TP_SIZE")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--sinks", c.sinks,
                   "Use attention sinks: each layer learns one logit per query head that takes "
                   "part in every row's softmax (random if --model has none)");
  command.add_flag("--recompute", c.recompute, "Recompute activations in backward");
  command.add_option("--checkpoint", c.checkpoint_dir, "Save checkpoints in this folder");
  command
      .add_option("--checkpoint-every", c.checkpoint_every,
                  "Number of steps between checkpoints (default: one checkpoint at the end)")
      ->check(CLI::Range(1, 1'000'000));
  command.add_flag("--resume", c.resume, "Resume from the newest checkpoint of --checkpoint");
  command.add_option("--save-model", o->save_model,
                     "Write config.json and model.safetensors to this folder at the end");
  addNumbers(command, c);
  command.add_option(
      "--mistake", c.mistakes,
      "Inject a mistake from `ringscope mistakes`: ID or ID:rank=R,layer=L,step=S,buffer=B");
  command.add_option("--log", o->log, "Write one JSON line per step to this file");
  command.add_option("--export-state", o->export_state,
                     "Write logits, gradients and weights to this safetensors file");
  command
      .add_option("--control", o->control,
                  "Serve the control protocol on standard input and output; stdio-held waits for "
                  "the first `continue`")
      ->check(CLI::IsMember({"stdio", kHeld}));
  o->addTo(command, c);
  command.callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace ringscope::app

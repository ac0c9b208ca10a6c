// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>

#include "app/ringscope/commands/attention_options.h"
#include "app/ringscope/rank_processes.h"
#include "app/ringscope/recording.h"
#include "app/ringscope/stop_on_signal.h"
#include "engine/mistakes/seams.h"
#include "engine/observe/capture_policy.h"
#include "engine/tensors/tensor_io.h"
#include "engine/train/training_run.h"
#include "engine/transport/rank_environment.h"
#include "traces/core/error.h"

namespace ringscope::app {
namespace {

struct Options : AttentionOptions {
  engine::TrainConfig config;
  std::string log, export_state, save_model, control;
};

/// Writes each step's line as it comes: a table for people, JSON lines into the log file.
class StepPrinter {
 public:
  explicit StepPrinter(const Options& options) : table_(!options.json && options.control.empty()) {
    if (options.log.empty()) return;
    log_.open(options.log);
    if (!log_) throw inputError(options.log + " cannot be written");
  }
  void operator()(const engine::StepLog& step) {
    if (log_.is_open()) log_ << step.toJson().dump() << std::endl;
    if (!table_) return;
    if (step.step == 0)
      std::cout << "  step        loss   grad norm   targets       time   peak a rank\n";
    std::int64_t peak = 0;
    for (const auto bytes : step.peak_bytes) peak = std::max(peak, bytes);
    std::cout << std::setw(6) << step.step << std::fixed << std::setprecision(6) << std::setw(12)
              << step.loss << std::setw(12) << step.grad_norm << std::setw(10) << step.targets
              << std::setprecision(1) << std::setw(8) << step.seconds * 1e3 << " ms" << std::setw(9)
              << static_cast<double>(peak) / (1 << 20) << " MiB" << std::endl;
  }

 private:
  bool table_;
  std::ofstream log_;
};

void exportState(const std::string& path, const engine::TrainOutcome& outcome) {
  std::map<std::string, at::Tensor> tensors{{"logits", outcome.logits}};
  for (const auto& [name, grad] : outcome.gradients) tensors["grad." + name] = grad;
  for (const auto& [name, weight] : outcome.weights) tensors["weight." + name] = weight;
  engine::saveTensors(path, tensors);
}

/// A Hugging Face folder: config.json and model.safetensors.
void saveModel(const Options& o, const engine::TrainOutcome& outcome) {
  std::error_code error;
  std::filesystem::create_directories(o.save_model, error);
  engine::saveTensors(o.save_model + "/model.safetensors", outcome.weights, {{"format", "pt"}});
  std::ofstream out(o.save_model + "/config.json");
  out << outcome.model.toJson(o.config.dtype).dump(2) << "\n";
  if (!out) throw inputError(o.save_model + "/config.json cannot be written");
}

void printReport(const Options& o, const engine::TrainOutcome& outcome) {
  double worst = 0;
  for (const auto& diff : outcome.diffs) worst = diff.multiple <= worst ? worst : diff.multiple;
  if (o.json) {
    nlohmann::json json = {
        {"steps", nlohmann::json::array()}, {"stopped", outcome.stopped}, {"trace", o.trace}};
    for (const auto& step : outcome.steps) json["steps"].push_back(step.toJson());
    if (o.verify) json["worst_multiple"] = worst;
    std::cout << json.dump(2) << "\n";
  } else if (o.control.empty()) {
    if (outcome.stopped) std::cout << "stopped after " << outcome.steps.size() << " steps\n";
    if (o.verify)
      std::cout << "worst error " << worst << "× noise over " << outcome.diffs.size()
                << " comparisons\n";
    if (!o.trace.empty()) std::cout << "trace: " << o.trace << "\n";
  }
}

/// Everything that can be refused is refused before a file is touched or a thread started.
void validate(const Options& o) {
  const engine::TrainConfig& config = o.config;
  if (o.launch != "threads" && o.transport == "local")
    throw usageError("--transport local joins threads of one process; --launch " + o.launch +
                     " needs --transport gloo or nccl");
  if (o.launch == "env" && !o.control.empty() && !Recording::isCollected())
    throw usageError(
        "--control speaks for ranks that this command starts; use --launch threads or processes");
  engine::Seams seams;
  for (const auto& mistake : config.mistakes) engine::inject(mistake, seams);
  engine::CapturePolicy::parse(config.capture);
  if (!config.text_files.empty() && !config.token_file.empty())
    throw usageError("give either --text or --tokens, not both");
}

engine::Mask maskOf(const Options& o) {
  if (o.mask == "full") return engine::Mask::full();
  if (o.mask == "window") return engine::Mask::slidingWindow(o.window);
  if (o.mask == "documents" && o.window > 0) return engine::Mask::slidingWindow(o.window);
  return engine::Mask::causalMask();
}

int run(Options& o) {
  o.chooseTransport();
  o.config.cp = o.cp;
  o.config.from_environment = o.launch == "env";
  o.config.timeout = std::chrono::seconds(o.timeout_seconds);
  o.config.balance = o.balance;
  o.config.mask = maskOf(o);
  o.config.keep_documents = o.mask == "documents";
  o.config.attention = o.attention;
  o.config.verify = o.verify;
  o.config.capture = o.capture;
  o.config.transport = o.transport;
  o.config.device = o.device;
  validate(o);
  const engine::Mesh mesh = o.config.mesh();
  const std::string sealed =
      nlohmann::json({{"command_line", commandLine()}, {"mistakes", o.config.mistakes}}).dump();
  if (o.launch == "processes")
    return runRankProcesses({mesh.worldSize(), o.cp, std::chrono::seconds(o.timeout_seconds),
                             o.trace, !o.control.empty(), sealed});
  const int rank = o.config.from_environment ? engine::RankEnvironment::read(mesh).rank : 0;
  auto gate = o.config.from_environment ? engine::Gate::inheritedOr(mesh.worldSize())
                                        : engine::Gate(mesh.worldSize());
  StopOnSignal stop(gate);
  if (rank != 0) o.log.clear();
  StepPrinter printer(o);
  // Under torchrun every rank process of the recorded cp group writes a file of its own.
  if (o.config.from_environment && !o.trace.empty() && !Recording::isCollected())
    o.trace = rank < o.cp ? o.trace + "." + std::to_string(rank) : "";
  Recording recording(o.cp, o.trace, !o.control.empty(), gate);
  recording.seal(sealed);
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
  if (rank != 0) return kSuccess;
  if (!o.export_state.empty() && !outcome.stopped) exportState(o.export_state, outcome);
  if (!o.save_model.empty() && !outcome.stopped) saveModel(o, outcome);
  printReport(o, outcome);
  return kSuccess;
}

}  // namespace

std::string commandLine() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

void addTrain(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("train", "Training steps under context parallelism");
  auto o = std::make_shared<Options>();
  auto& c = o->config;
  command->add_option("--model", c.model_dir,
                      "A Hugging Face Llama folder; without it a small model is made");
  command->add_option("--text", c.text_files, "Text files to train on");
  command->add_option("--tokenizer", c.tokenizer,
                      "A SentencePiece model for --text (default: tokenizer.model of --model, else "
                      "every byte is a token)");
  command->add_option("--separator", c.separator,
                      "What parts a text file into documents, for --mask documents (default: each "
                      "file is one)");
  command->add_option("--tokens", c.token_file, "safetensors with input_ids, labels, position_ids");
  command->add_option("--steps", c.steps, "Training steps")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--seq-len", c.seq_len, "Tokens in a sequence, with --text")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command
      ->add_option("--batch", c.batch, "Sequences in a batch of all dp ranks together, with --text")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  command->add_option("--dp", c.dp, "Ranks that share the batch (default: DP_SIZE, else 1)")
      ->envname("DP_SIZE")
      ->check(CLI::Range(1, 1024));
  command->add_option("--tp", c.tp, "Ranks that share each layer (default: TP_SIZE, else 1)")
      ->envname("TP_SIZE")
      ->check(CLI::Range(1, 1024));
  command->add_flag("--recompute", c.recompute, "Compute activations again in backward");
  command->add_option("--checkpoint", c.checkpoint_dir, "Save the run's state into this folder");
  command
      ->add_option("--checkpoint-every", c.checkpoint_every,
                   "Steps between checkpoints (default: one at the end)")
      ->check(CLI::Range(1, 1'000'000));
  command->add_flag("--resume", c.resume, "Go on from the newest checkpoint of --checkpoint");
  command->add_option("--save-model", o->save_model,
                      "Write config.json and model.safetensors into this folder at the end");
  command->add_option("--dtype", c.dtype, "float32, float64, or bfloat16 with fp32 masters")
      ->check(CLI::IsMember({"float32", "float64", "bfloat16"}))
      ->capture_default_str();
  command->add_option("--seed", c.seed, "For weights and the order of blocks")
      ->capture_default_str();
  command->add_option("--lr", c.optimizer.lr, "Learning rate")->capture_default_str();
  command->add_option("--weight-decay", c.optimizer.weight_decay, "AdamW's weight decay")
      ->capture_default_str();
  command->add_option("--max-norm", c.max_norm, "Gradients are clipped at this norm")
      ->capture_default_str();
  command->add_option("--mistake", c.mistakes, "Inject a mistake of the catalogue");
  command->add_option("--log", o->log, "A JSON line a step");
  command->add_option("--export-state", o->export_state,
                      "safetensors for logits, gradients and weights");
  command->add_option("--control", o->control, "Speak the control connection on stdin and stdout")
      ->check(CLI::IsMember({"stdio"}));
  o->addTo(*command);
  command->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace ringscope::app

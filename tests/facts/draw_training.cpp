// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <numeric>

#include "engine/tensors/tensor_io.h"
#include "engine/train/training_run.h"
#include "tests/facts/drawing.h"
#include "traces/format/core/error.h"
#include "traces/format/trace/ending.h"

namespace ringscope::facts {

using engine::TrainConfig;
using traces::Balance;
using traces::MaskKind;
using traces::Strategy;

std::vector<Span> drawnDocuments(std::mt19937& random, int length, bool with_gaps) {
  std::vector<Span> documents;
  for (int at = 0; at < length;) {
    const int end = std::min(length, at + drawn(random, 1, length));
    if (!with_gaps || random() % 5) documents.push_back({at, end});
    at = end;
  }
  if (documents.empty()) documents.push_back({0, length});
  return documents;
}

namespace {

/// The sizes of the model in tests/reference.
constexpr int kHeads = 8, kKvHeads = 4, kLayers = 2, kVocabulary = 320;

struct Mesh {
  int dp, tp, cp;
};

}  // namespace

Plan drawTrainingPlan(std::mt19937& random, TrainConfig& config) {
  static const std::vector<Mesh> kMeshes = {{1, 1, 1}, {1, 1, 2}, {1, 1, 4}, {1, 1, 4}, {1, 1, 8},
                                            {2, 1, 2}, {2, 1, 4}, {1, 2, 2}, {1, 2, 4}, {1, 4, 2},
                                            {2, 2, 2}, {1, 1, 3}, {2, 1, 1}, {1, 2, 1}};
  const Mesh mesh = pickOne(random, kMeshes);
  Plan plan;
  plan.dp = config.dp = mesh.dp;
  plan.tp = config.tp = mesh.tp;
  plan.cp = config.cp = mesh.cp;
  config.strategy =
      pickOne<Strategy>(random, {Strategy::kRing, Strategy::kAllGather, Strategy::kHybrid});
  if (config.strategy == Strategy::kHybrid && plan.cp % 2 == 0) {
    plan.ulysses = config.ulysses = 2;
  } else if (config.strategy == Strategy::kHybrid) {
    config.strategy = Strategy::kRing;
  }
  config.rotate = static_cast<traces::Rotate>(random() % 3);
  config.order = static_cast<traces::Order>(random() % 2);
  config.mask = pickOne<MaskKind>(random, {MaskKind::kFull, MaskKind::kCausal, MaskKind::kWindow,
                                           MaskKind::kDocuments, MaskKind::kDocuments});
  plan.gathers = config.strategy == Strategy::kAllGather;
  plan.gathers_once = config.rotate == traces::Rotate::kAllGather;
  plan.own_last = config.order == traces::Order::kDiagonalLast;
  plan.causal = config.mask != MaskKind::kFull;
  std::vector<Balance> balances = {Balance::kNone};
  if (plan.causal) balances.insert(balances.end(), {Balance::kHeadTail, Balance::kStriped});
  config.balance = pickOne(random, balances);
  plan.dealing = static_cast<Dealing>(*config.balance);
  plan.length = 2 * plan.cp * drawn(random, 1, 32 / plan.cp);
  const bool windowed =
      config.mask == MaskKind::kWindow || (config.mask == MaskKind::kDocuments && random() % 2);
  if (windowed) plan.window = drawn(random, 1, plan.length);
  config.window = plan.window;
  plan.heads = kHeads;
  plan.kv_heads = kKvHeads;
  plan.width = 8;
  plan.batch = config.mask == MaskKind::kDocuments ? 1 : drawn(random, 1, 2);
  config.batch = plan.batch * plan.dp;
  return plan;
}

namespace {

/// Draws tokens and documents of every step and sequence, and what follows from them.
void drawTokens(std::mt19937& random, Case& c, const TrainConfig& config, Plan plan,
                const std::string& path) {
  const std::int64_t rows = config.steps * config.batch, length = plan.length;
  const bool restart =
      config.mask == MaskKind::kDocuments || (!c.ignores_labels && random() % 4 == 0);
  std::vector<std::int64_t> positions, tokens;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<Span> documents = {{0, plan.length}};
    if (restart) documents = drawnDocuments(random, plan.length, false);
    for (const Span& d : documents)
      for (int t = d.begin; t < d.end; ++t) positions.push_back(t - d.begin);
    for (std::int64_t t = 0; t < length; ++t)
      tokens.push_back(static_cast<std::int64_t>(random() % kVocabulary));
    const bool first = row % plan.batch == 0;
    if (first) {
      plan.documents = config.mask == MaskKind::kDocuments ? documents : std::vector<Span>();
      c.oracles.emplace_back(plan);
      c.known_positions.push_back(true);
      c.positions.insert(c.positions.end(), positions.end() - length, positions.end());
    }
    const bool hidden = config.mask != MaskKind::kDocuments && documents.size() > 1;
    if (hidden) c.known_positions.back() = false;
  }
  std::vector<std::int64_t> labels = tokens;
  std::rotate(labels.begin(), labels.begin() + 1, labels.end());
  for (std::int64_t& label : labels)
    if (c.ignores_labels && random() % 4 == 0) label = -100;
  c.tokens.assign(tokens.begin(), tokens.end());
  c.labels.assign(labels.begin(), labels.end());
  auto tensor = [&](const std::vector<std::int64_t>& values) {
    return at::tensor(values, at::kLong).view({config.steps, config.batch, length});
  };
  engine::saveTensors(path, {{"input_ids", tensor(tokens)},
                             {"labels", tensor(labels)},
                             {"position_ids", tensor(positions)}});
}

}  // namespace

void drawTrainingType(std::mt19937& random, Case& c, TrainConfig& config, Plan& plan) {
  config.dtype =
      pickOne<traces::DType>(random, {traces::DType::kFloat32, traces::DType::kFloat32,
                                      traces::DType::kFloat64, traces::DType::kBFloat16});
  plan.element_bytes = static_cast<int>(traces::byteSize(config.dtype));
  plan.sum_bytes = config.dtype == traces::DType::kFloat64 ? 8 : 4;
  if (config.dtype == traces::DType::kBFloat16) c.tolerance = 2e-2;
}

namespace {

void drawMistake(std::mt19937& random, Case& c, TrainConfig& config) {
  if (random() % 2) return;
  c.mistake = pickOne<std::string>(random, {"missing_position_ids", "naive_sum_merge",
                                            "missing_cp_grad_reduce", "nan_from_one_rank"});
  config.mistakes = {c.mistake};
  c.out_is_plain = c.mistake != "naive_sum_merge";
}

std::string describe(const Case& c, const TrainConfig& config, const Plan& plan) {
  return "train dp " + std::to_string(plan.dp) + " tp " + std::to_string(plan.tp) + " cp " +
         std::to_string(plan.cp) + " " + traces::name(config.strategy) + " ulysses " +
         std::to_string(plan.ulysses) + " " + traces::name(config.rotate) + " " +
         traces::name(config.order) + " " + traces::name(*config.balance) + " " +
         traces::name(config.mask) + " window " + std::to_string(plan.window) + " length " +
         std::to_string(plan.length) + " batch " + std::to_string(plan.batch) + " " +
         traces::name(config.dtype) + " steps " + std::to_string(config.steps) + " capture " +
         c.capture + (c.verify ? " verify" : "") + " mistake " + c.mistake;
}

/// A run without the drawn mistake where that would change nothing of it.
void dropRefusedMistake(Case& c, TrainConfig& config, const Plan& plan) {
  if (c.mistake.empty()) return;
  try {
    engine::checkTraining(config);
  } catch (const Error& error) {
    if (!std::string(error.what()).starts_with("--mistake ")) throw;
    c.mistake.clear();
    config.mistakes.clear();
    c.out_is_plain = true;
    c.text = describe(c, config, plan);
  }
}

}  // namespace

void recordOverThreads(Case& c, const TrainConfig& config) {
  c.trace = std::make_shared<traces::Trace>();
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  sinks.push_back(std::make_unique<KeepingSink>(c));
  traces::Recorder recorder(config.worldSize(), std::move(sinks));
  engine::Gate gate(config.worldSize());
  try {
    c.logged = engine::runTraining(config, gate, &recorder).steps;
  } catch (const Error& error) {
    if (c.mistake != "dropped_hop") throw;  // which hangs
    recorder.note(traces::kEndedNote, traces::endedNote({traces::HowEnded::kFailed, error.what()}));
  }
  recorder.close();
}

void runDrawn(std::mt19937& random, Case& c, TrainConfig& config, const Plan& plan,
              void (*record)(Case& c, const TrainConfig& config)) {
  c.train = true;
  c.dp = plan.dp;
  c.tp = plan.tp;
  c.cp = plan.cp;
  c.layers = kLayers;
  c.steps = config.steps;
  c.strategy = traces::name(config.strategy);
  c.mask = traces::name(config.mask);
  c.capture = config.capture;
  c.verify = config.verify;
  c.stats = c.capture != "none";
  c.values = c.stats && c.capture != "stats";
  c.text = describe(c, config, plan);
  c.folder = std::make_shared<test::TempDir>();
  config.tokens = c.folder->file("tokens.safetensors");
  config.model_dir = test::reference("llama/model");
  config.seq_len = plan.length;
  drawTokens(random, c, config, plan, config.tokens);
  if (!c.of_doctor) dropRefusedMistake(c, config, plan);
  if (!c.mistake.empty()) {
    traces::RunSpec run = config;
    run.model.layers = kLayers;
    c.made = traces::AskedMistake::parse(engine::placed(c.mistake, run));
  }
  record(c, config);
}

namespace {

/// All but the plan.
void drawRest(std::mt19937& random, Case& c, TrainConfig& config, Plan& plan) {
  drawTrainingType(random, c, config, plan);
  drawMistake(random, c, config);
  config.steps = drawn(random, 1, 2);
  config.capture = pickOne<std::string>(random, {"none", "stats", "values:steps=0", "full"});
  config.verify = random() % 3 == 0;
}

}  // namespace

Case drawnTraining(std::mt19937& random) {
  Case c;
  TrainConfig config;
  Plan plan = drawTrainingPlan(random, config);
  drawRest(random, c, config, plan);
  runDrawn(random, c, config, plan);
  return c;
}

Case drawnProcesses(std::mt19937& random) {
  constexpr int kMostProcesses = 4;
  Case c;
  TrainConfig config;
  Plan plan;
  do {
    config = {};
    plan = drawTrainingPlan(random, config);
  } while (config.worldSize() < 2 || config.worldSize() > kMostProcesses);
  drawRest(random, c, config, plan);
  runDrawn(random, c, config, plan, recordOverProcesses);
  c.text += " over processes";
  return c;
}

}  // namespace ringscope::facts

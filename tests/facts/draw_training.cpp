// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <numeric>

#include "engine/tensors/tensor_io.h"
#include "engine/train/training_run.h"
#include "tests/facts/drawing.h"
#include "tests/support/files.h"

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

/// Of the model in tests/reference.
constexpr int kHeads = 8, kKvHeads = 4, kLayers = 2, kVocabulary = 320;

struct Mesh {
  int dp, tp, cp;
};

Plan drawPlan(std::mt19937& random, TrainConfig& config) {
  static const std::vector<Mesh> kMeshes = {{1, 1, 1}, {1, 1, 2}, {1, 1, 4}, {1, 1, 4}, {1, 1, 8},
                                            {2, 1, 2}, {2, 1, 4}, {1, 2, 2}, {1, 2, 4}, {1, 4, 2},
                                            {2, 2, 2}, {1, 1, 3}, {2, 1, 1}, {1, 2, 1}};
  const Mesh mesh = oneOf(random, kMeshes);
  Plan plan;
  plan.dp = config.dp = mesh.dp;
  plan.tp = config.tp = mesh.tp;
  plan.cp = config.cp = mesh.cp;
  config.strategy =
      oneOf<Strategy>(random, {Strategy::kRing, Strategy::kAllGather, Strategy::kHybrid});
  if (config.strategy == Strategy::kHybrid && plan.cp % 2 == 0) {
    plan.ulysses = config.ulysses = 2;
  } else if (config.strategy == Strategy::kHybrid) {
    config.strategy = Strategy::kRing;
  }
  config.rotate = static_cast<traces::Rotate>(random() % 3);
  config.order = static_cast<traces::Order>(random() % 2);
  config.mask = oneOf<MaskKind>(random, {MaskKind::kFull, MaskKind::kCausal, MaskKind::kWindow,
                                         MaskKind::kDocuments, MaskKind::kDocuments});
  plan.gathers = config.strategy == Strategy::kAllGather;
  plan.gathers_once = config.rotate == traces::Rotate::kAllGather;
  plan.own_last = config.order == traces::Order::kDiagonalLast;
  plan.causal = config.mask != MaskKind::kFull;
  std::vector<Balance> balances = {Balance::kNone};
  if (plan.causal) balances.insert(balances.end(), {Balance::kHeadTail, Balance::kStriped});
  config.balance = oneOf(random, balances);
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

/// Draws tokens and documents of every step and sequence, and what follows from them.
void drawTokens(std::mt19937& random, Case& c, const TrainConfig& config, Plan plan,
                const std::string& path) {
  const std::int64_t rows = config.steps * config.batch, length = plan.length;
  const bool restart = config.mask == MaskKind::kDocuments || random() % 4 == 0;
  std::vector<std::int64_t> positions, tokens, labels;
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
  labels = tokens;
  std::rotate(labels.begin(), labels.begin() + 1, labels.end());
  auto tensor = [&](const std::vector<std::int64_t>& values) {
    return at::tensor(values, at::kLong).view({config.steps, config.batch, length});
  };
  engine::saveTensors(path, {{"input_ids", tensor(tokens)},
                             {"labels", tensor(labels)},
                             {"position_ids", tensor(positions)}});
}

void drawType(std::mt19937& random, Case& c, TrainConfig& config, Plan& plan) {
  config.dtype = oneOf<traces::DType>(random, {traces::DType::kFloat32, traces::DType::kFloat32,
                                               traces::DType::kFloat64, traces::DType::kBFloat16});
  plan.element_bytes = static_cast<int>(traces::sizeOf(config.dtype));
  plan.sum_bytes = config.dtype == traces::DType::kFloat64 ? 8 : 4;
  if (config.dtype == traces::DType::kBFloat16) c.tolerance = 2e-2;
}

void drawMistake(std::mt19937& random, Case& c, TrainConfig& config) {
  if (random() % 2) return;
  c.mistake = oneOf<std::string>(random, {"missing_position_ids", "naive_sum_merge",
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

}  // namespace

Case drawnTraining(std::mt19937& random) {
  Case c;
  c.train = true;
  TrainConfig config;
  Plan plan = drawPlan(random, config);
  drawType(random, c, config, plan);
  drawMistake(random, c, config);
  c.dp = plan.dp;
  c.tp = plan.tp;
  c.cp = plan.cp;
  c.layers = kLayers;
  c.steps = config.steps = drawn(random, 1, 2);
  config.capture = c.capture =
      oneOf<std::string>(random, {"none", "stats", "values:steps=0", "full"});
  c.stats = c.capture != "none";
  c.values = c.capture != "none" && c.capture != "stats";
  config.verify = c.verify = random() % 3 == 0;
  c.text = describe(c, config, plan);
  const test::TempDir dir;
  config.tokens = dir.file("tokens.safetensors");
  config.model_dir = test::reference("llama/model");
  config.seq_len = plan.length;
  drawTokens(random, c, config, plan, config.tokens);
  c.trace = std::make_shared<traces::Trace>();
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  sinks.push_back(std::make_unique<KeepingSink>(c));
  const int world = plan.dp * plan.tp * plan.cp;
  traces::Recorder recorder(world, std::move(sinks));
  engine::Gate gate(world);
  engine::runTraining(config, gate, &recorder);
  recorder.close();
  return c;
}

}  // namespace ringscope::facts

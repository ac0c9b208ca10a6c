// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/attend/attend.h"
#include "engine/mistakes/registry.h"
#include "engine/train/training_run.h"
#include "tests/support/files.h"
#include "tests/support/memory_sink.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/storage/sqlite_sink.h"
#include "traces/format/trace/trace.h"

namespace ringscope::test {

/// A random choice of options that can run together.
class RunDraw {
 public:
  explicit RunDraw(std::mt19937& random) : random_(random) {}

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  bool oneIn(std::int64_t n) { return below(n) == 0; }
  template <typename T>
  T pick(std::vector<T> list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
  }
  /// Draws the options of attention, for attend and for training.
  void drawAttention(traces::RunSpec& run) {
    using namespace traces;
    run.strategy = pick(std::vector{Strategy::kRing, Strategy::kRing, Strategy::kAllGather,
                                    Strategy::kUlysses, Strategy::kHybrid});
    run.ulysses = run.strategy == Strategy::kHybrid ? pick(std::vector{0, 1, 2, 4}) : 0;
    run.rotate = pick(std::vector{Rotate::kP2p, Rotate::kAllGather, Rotate::kAllToAll});
    run.order = pick(std::vector{Order::kDiagonalFirst, Order::kDiagonalLast});
    run.balance = pick(
        std::vector{Balance::kNone, Balance::kHeadTail, Balance::kStriped, Balance::kPerDocument});
    run.fp8 = oneIn(5);
    run.dropout = oneIn(6) ? 0.2 : 0;
    run.seed = random_();
    run.capture = pick<std::string>(
        {"full", "full", "values:steps=0", "values:steps=0", "values:steps=1", "stats", "none"});
  }

 private:
  std::mt19937& random_;
};

/// Returns a small training run.
inline engine::TrainConfig randomTraining(std::mt19937& random, int most_ranks) {
  using traces::DType, traces::MaskKind;
  RunDraw draw(random);
  for (;;) {
    engine::TrainConfig c;
    c.model = {"sample", 2, 128, 4, 2, 32, 256};
    c.text = {sampleText()};
    c.dp = draw.pick(std::vector{1, 1, 2});
    c.tp = draw.pick(std::vector{1, 1, 1, 2, 4});
    c.cp = static_cast<std::int32_t>(1 + draw.below(16));
    if (c.worldSize() > most_ranks) continue;
    draw.drawAttention(c);
    c.mask = draw.pick(
        std::vector{MaskKind::kFull, MaskKind::kCausal, MaskKind::kWindow, MaskKind::kDocuments});
    c.seq_len = 2 * c.cp * (1 + draw.below(std::max<std::int64_t>(1, 48 / c.cp)));
    if (c.mask == MaskKind::kWindow || (c.mask == MaskKind::kDocuments && draw.oneIn(3)))
      c.window = 1 + draw.below(c.seq_len + 2);
    if (c.mask == MaskKind::kDocuments)
      c.separator = draw.pick<std::string>({"", "\n\n", ". ", " "});
    c.dtype =
        draw.pick(std::vector{DType::kFloat32, DType::kFloat32, DType::kFloat64, DType::kBFloat16});
    c.batch = c.dp * (c.mask == MaskKind::kDocuments ? 1 : 1 + draw.below(2));
    c.steps = static_cast<std::int32_t>(1 + draw.below(2));
    c.recompute = draw.oneIn(5);
    c.sinks = draw.oneIn(4);
    c.verify = c.dropout == 0 && draw.oneIn(4);
    if (!traces::refusal(c)) return c;
  }
}

/// One attention over random tensors.
struct RandomAttention {
  engine::AttendInput in;
  engine::AttendConfig config;
  traces::RunSpec asked;  ///< the config with the mask, sinks and heads of the input
};

inline engine::Mask randomMask(RunDraw& draw, std::int64_t length) {
  if (draw.oneIn(4)) return engine::Mask::full();
  if (draw.oneIn(3)) return engine::Mask::causalMask();
  if (draw.oneIn(2)) return engine::Mask::slidingWindow(1 + draw.below(length + 2));
  engine::Mask mask{true, draw.oneIn(2) ? 0 : 1 + draw.below(length), {}};
  for (std::int64_t at = 0; at < length;) {
    const std::int64_t end = std::min(length, at + 1 + draw.below(length));
    if (mask.documents.empty() || !draw.oneIn(6)) mask.documents.push_back({at, end});
    at = end;  // tokens in no document are padding
  }
  return mask;
}

inline RandomAttention randomAttention(std::mt19937& random) {
  RunDraw draw(random);
  for (;;) {
    RandomAttention a;
    a.config.command = traces::Command::kAttend;
    a.config.cp = static_cast<std::int32_t>(1 + draw.below(16));
    draw.drawAttention(a.config);
    a.config.pad = true;
    const std::int64_t kv = 1 + draw.below(3), heads = kv * (1 + draw.below(3)),
                       length = 2 + draw.below(100), width = draw.pick(std::vector{4, 8, 24}),
                       batch = 1 + draw.below(2);
    const auto type = draw.pick(std::vector{at::kFloat, at::kDouble, at::kBFloat16, at::kHalf});
    at::manual_seed(random());
    const auto tensor = [&](std::int64_t h) {
      return at::randn({batch, h, length, width}, at::kFloat).to(type);
    };
    a.in = {tensor(heads),
            tensor(kv),
            tensor(kv),
            tensor(heads),
            randomMask(draw, length),
            draw.pick(std::vector{0.1, 0.4, 2.0})};
    if (draw.oneIn(4)) a.in.sinks = at::randn({heads}) * 2;
    traces::RunSpec& run = a.asked;
    run = a.config;
    run.mask = a.in.mask.kind();
    run.window = a.in.mask.window;
    run.sinks = a.in.sinks.defined();
    run.seq_len = 0;
    run.model = {"attention", 1, 0, heads, kv, width, 0};
    if (run.balance == traces::Balance::kPerDocument) {
      std::int64_t covered = 0;
      for (const auto& d : a.in.mask.documents) covered = d.begin == covered ? d.end : -1;
      if (covered != length) continue;
    }
    if (!traces::refusal(run)) return a;
  }
}

/// A random training or attention that can be recorded repeatedly.
struct RandomRun {
  engine::TrainConfig training;
  std::optional<RandomAttention> attention;

  static RandomRun ofTraining(std::mt19937& random, int most_ranks = 16) {
    return {randomTraining(random, most_ranks), std::nullopt};
  }
  static RandomRun ofAttention(std::mt19937& random) { return {{}, randomAttention(random)}; }

  const traces::RunSpec& spec() const { return attention ? attention->asked : training; }
  /// Records the run into a file and opens it. `mistake` is injected unless its name is empty.
  /// `hooks` apply to training.
  std::shared_ptr<traces::Trace> record(const std::string& path, const std::string& mistake = "",
                                        const engine::TrainHooks& hooks = {}) const {
    recordInto(std::make_unique<traces::SqliteSink>(path), mistake, hooks);
    return traces::openTrace(path);
  }
  /// Records the run into memory.
  std::shared_ptr<traces::Trace> recordInMemory(const std::string& mistake = "") const {
    const auto source = std::make_shared<traces::MemorySource>();
    recordInto(std::make_unique<MemorySink>(source), mistake, {});
    return traces::readTrace(source);
  }
  void run(traces::Recorder* recorder, const std::string& mistake,
           const engine::TrainHooks& hooks) const {
    engine::Gate gate(spec().worldSize());
    if (attention) {
      engine::AttendConfig config = attention->config;
      if (!mistake.empty()) engine::inject(engine::placed(mistake, spec()), config.seams);
      engine::attend(attention->in, config, gate, recorder);
      return;
    }
    engine::TrainConfig config = training;
    if (!mistake.empty()) config.mistakes = {mistake};
    engine::runTraining(config, gate, recorder, hooks);
  }
  void recordInto(std::unique_ptr<traces::ChunkSink> sink, const std::string& mistake,
                  const engine::TrainHooks& hooks) const {
    std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
    sinks.push_back(std::move(sink));
    traces::Recorder recorder(spec().worldSize(), std::move(sinks));
    run(&recorder, mistake, hooks);
  }
  /// Returns why the mistake is rejected in this run; empty when it can be injected.
  std::string findRefusal(const std::string& mistake) const {
    try {
      if (attention) {
        engine::AttendConfig config = attention->config;
        engine::inject(engine::placed(mistake, spec()), config.seams);
        engine::checkAttend(attention->in, config);
      } else {
        engine::TrainConfig config = training;
        config.mistakes = {mistake};
        engine::checkTraining(config);
      }
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  /// Returns a description for a failure.
  std::string text() const {
    const nlohmann::json all = traces::toJson(spec()), plain = traces::toJson(traces::RunSpec());
    nlohmann::json json = nlohmann::json::object();
    for (const auto& [key, value] : all.items())
      if (value != plain[key]) json[key] = value;
    if (!attention) return json.dump();
    const engine::AttendInput& in = attention->in;
    json["q"] = in.q.sizes().vec();
    json["kv_heads"] = in.k.size(1);
    json["type"] = c10::toString(in.q.scalar_type());
    json["mask"] = traces::name(in.mask.kind());
    json["window"] = in.mask.window;
    json["documents"] = in.mask.documents.size();
    json["scale"] = in.scale;
    json["sinks"] = in.sinks.defined();
    return json.dump();
  }
};

/// Reports whether the tensors in both recordings have the same values. Other differences are
/// ignored.
inline bool sameValues(const traces::Trace& a, const traces::Trace& b) {
  for (const traces::TensorRecord& tensor : a.tensors()) {
    const traces::TensorRecord* other = b.findTensor(static_cast<const traces::TensorKey&>(tensor));
    if (other && other->hash != tensor.hash) return false;
  }
  return true;
}

}  // namespace ringscope::test

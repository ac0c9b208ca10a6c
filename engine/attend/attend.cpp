// SPDX-License-Identifier: Apache-2.0
#include "engine/attend/attend.h"

#include <ATen/ATen.h>

#include <cmath>

#include "engine/attention/block_attention.h"
#include "engine/attention/reference.h"
#include "engine/data/sharded_batch.h"
#include "engine/tensors/tensor_io.h"
#include "engine/train/rank_threads.h"
#include "engine/train/train_config.h"
#include "engine/verify/error_measure.h"
#include "traces/core/clock.h"
#include "traces/core/error.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kSeqDim = 2;
constexpr const char* kResults[] = {"out", "lse", "dq", "dk", "dv"};

Mask parseMask(const std::string& name, const std::string& source) {
  if (name == "full") return Mask::kFull;
  if (name == "causal") return Mask::kCausal;
  throw inputError(source + ": mask '" + name + "' is not supported; full and causal are");
}

void checkShapes(const AttendInput& in, const std::string& source) {
  auto require = [&](bool fine, const std::string& what) {
    if (!fine) throw inputError(source + ": " + what);
  };
  require(in.q.dim() == 4, "q must have the shape [B, Hq, S, D]");
  require(in.k.dim() == 4 && in.k.sizes() == in.v.sizes(),
          "k and v must both have the shape [B, Hkv, S, D]");
  require(in.dout.sizes() == in.q.sizes(), "dout must be shaped like q");
  require(
      in.q.size(0) == in.k.size(0) && in.q.size(2) == in.k.size(2) && in.q.size(3) == in.k.size(3),
      "q and k differ in batch, length or head size");
  require(in.q.numel() > 0 && in.k.numel() > 0, "q, k and v must not be empty");
  require(in.q.size(1) % in.k.size(1) == 0, std::to_string(in.q.size(1)) +
                                                " query heads do not divide into " +
                                                std::to_string(in.k.size(1)) + " key-value heads");
  require(in.q.is_floating_point(), "q must be float32, float64, bfloat16 or float16");
  for (const at::Tensor* t : {&in.k, &in.v, &in.dout})
    require(t->scalar_type() == in.q.scalar_type(), "q, k, v and dout must have the same type");
}

/// What the ranks hand in: one list of shards per result.
using Shards = std::map<std::string, std::vector<at::Tensor>>;

nlohmann::json describeRun(const AttendInput& in, const AttendConfig& config,
                           const ShardLayout& layout) {
  return {{"command", "attend"},
          {"world_size", config.cp},
          {"dp", 1},
          {"tp", 1},
          {"cp", config.cp},
          {"strategy", "ring"},
          {"rotate", "p2p"},
          {"balance", name(layout.balance())},
          {"mask", name(in.mask)},
          {"dtype", traces::name(dtypeOf(in.q))},
          {"transport", "local"},
          {"launch", "threads"},
          {"device", "cpu"},
          {"positions", "global"},
          {"seq_len", in.q.size(2)},
          {"batch", in.q.size(0)},
          {"steps", 1},
          {"capture", config.capture},
          {"model",
           {{"name", "attention"},
            {"layers", 1},
            {"heads", in.q.size(1)},
            {"kv_heads", in.k.size(1)},
            {"head_dim", in.q.size(3)}}}};
}

/// One rank: shard, forward, backward; hands in the last results. Rank 0 keeps the times.
void runRank(RankContext& context, const AttendInput& in, const AttendConfig& config,
             const ShardLayout& layout, Shards& shards, AttendOutcome& outcome) {
  const int rank = context.rank();
  auto local = [&](const at::Tensor& t) { return shardOf(t, kSeqDim, layout, rank); };
  const at::Tensor q = local(in.q), k = local(in.k), v = local(in.v), dout = local(in.dout);
  context.observer.shard({"q", 0, static_cast<std::int16_t>(rank), true, kSeqDim,
                          in.q.sizes().vec(), q.sizes().vec(), layout.runs(rank)});
  AttentionResult result;
  AttentionGradients g;
  for (int round = 0; round < config.repeat; ++round) {
    RingAttention ring(context, ringSchedule(layout, in.mask, rank), in.scale);
    context.cp.barrier();
    const std::int64_t begin = traces::steadyNow();
    result = ring.forward(q, k, v, 0);
    context.cp.barrier();
    const std::int64_t middle = traces::steadyNow();
    g = ring.backward(dout, q, k, v, result, 0);
    context.cp.barrier();
    outcome.hops[static_cast<std::size_t>(rank)] = ring.hops();
    if (rank != 0) continue;
    outcome.forward_seconds.push_back(static_cast<double>(middle - begin) * 1e-9);
    outcome.backward_seconds.push_back(static_cast<double>(traces::steadyNow() - middle) * 1e-9);
  }
  const at::Tensor* all[] = {&result.out, &result.lse, &g.dq, &g.dk, &g.dv};
  for (std::size_t i = 0; i < std::size(kResults); ++i) {
    shards.at(kResults[i])[static_cast<std::size_t>(rank)] = *all[i];
    const auto direction = i < 2 ? traces::Direction::kForward : traces::Direction::kBackward;
    context.observer.tensor(kResults[i], {0, 0, direction, -1}, *all[i]);
  }
}

}  // namespace

AttendInput AttendInput::load(const std::string& path, const std::string& mask) {
  const auto file = traces::SafeTensorsFile::read(path);
  auto read = [&](const char* name) { return toTensor(file.at(name), name); };
  AttendInput in{read("q"), read("k"), read("v"), read("dout")};
  checkShapes(in, path);
  auto metadata = [&](const char* key) {
    const auto found = file.metadata().find(key);
    return found == file.metadata().end() ? std::string() : found->second;
  };
  const std::string asked = !mask.empty() ? mask : metadata("mask");
  in.mask = asked.empty() ? Mask::kFull : parseMask(asked, path);
  in.scale = 1.0 / std::sqrt(static_cast<double>(in.q.size(3)));
  if (const std::string scale = metadata("scale"); !scale.empty()) {
    char* end = nullptr;
    in.scale = std::strtod(scale.c_str(), &end);
    if (*end != 0 || !std::isfinite(in.scale))
      throw inputError(path + ": scale '" + scale + "' is not a number");
  }
  return in;
}

AttendOutcome attend(const AttendInput& input, const AttendConfig& config, Gate& gate,
                     traces::Recorder* recorder) {
  const ShardLayout layout(input.q.size(2), config.cp,
                           chooseBalance(config.balance, input.mask, config.cp));
  const auto ranks = static_cast<std::size_t>(config.cp);
  Shards shards;
  for (const char* name : kResults) shards[name].resize(ranks);
  AttendOutcome outcome;
  outcome.hops.resize(ranks);
  RankThreadOptions options;
  options.ranks = config.cp;
  options.recorder = recorder;
  options.capture = CapturePolicy::parse(config.capture);
  if (recorder) {
    options.memory = std::make_shared<MemoryTracker>(config.cp);
    recorder->note("run", describeRun(input, config, layout).dump());
  }
  const bool stopped = runRankThreads(options, gate, [&](RankContext& context) {
    runRank(context, input, config, layout, shards, outcome);
  });
  if (stopped) throw runFailed("stopped before the end");
  for (const char* name : kResults) outcome.tensors[name] = unshard(shards[name], kSeqDim, layout);
  for (int rank = 0; rank < config.cp; ++rank)
    outcome.work.push_back(ringSchedule(layout, input.mask, rank).work());
  return outcome;
}

std::vector<traces::DiffRecord> verifyAttend(const AttendInput& in, const AttendOutcome& outcome) {
  ReferenceAttention reference(in.mask, in.scale);
  DeviceAttention device(in.mask, in.scale);
  auto run = [&](AttentionOp& op) {
    const AttentionResult r = op.forward(in.q, in.k, in.v, 0);
    const AttentionGradients g = op.backward(in.dout, in.q, in.k, in.v, r, 0);
    return std::vector<at::Tensor>{r.out, r.lse, g.dq, g.dk, g.dv};
  };
  const auto exact = run(reference), one_device = run(device);
  std::vector<traces::DiffRecord> diffs(std::size(kResults));
  for (std::size_t i = 0; i < diffs.size(); ++i) {
    diffs[i].place = {0, 0, i < 2 ? traces::Direction::kForward : traces::Direction::kBackward, -1};
    diffs[i].tensor = kResults[i];
    measureError(diffs[i], outcome.tensors.at(kResults[i]), exact[i], one_device[i]);
  }
  return diffs;
}

}  // namespace ringscope::engine

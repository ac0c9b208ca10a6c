// SPDX-License-Identifier: Apache-2.0
#include "engine/attend/attend.h"

#include <ATen/ATen.h>

#include <cmath>

#include "engine/attend/padding.h"
#include "engine/attention/block_attention.h"
#include "engine/attention/reference.h"
#include "engine/attention/sinks.h"
#include "engine/attention/strategies/kv_wire.h"
#include "engine/data/sharded_batch.h"
#include "engine/parallel/gather.h"
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
constexpr const char* kSinkGradient = "dsinks";  // not of the sequence: the ranks' parts add up

/// q, k, v, dout as [B, H, S, D], whatever order the file has them in.
at::Tensor toBhsd(const at::Tensor& t, const std::string& layout, const std::string& source) {
  const auto permuted = [&](std::int64_t dims, at::IntArrayRef order) {
    if (t.dim() != dims)
      throw inputError(source + ": a tensor of layout " + layout + " has " + std::to_string(dims) +
                       " dimensions, not " + std::to_string(t.dim()));
    return t.permute(order).contiguous();
  };
  if (layout.empty() || layout == "BHSD") return t;
  if (layout == "BSHD") return permuted(4, {0, 2, 1, 3});
  if (layout == "SBHD") return permuted(4, {1, 2, 0, 3});
  if (layout == "THD") return permuted(3, {1, 0, 2}).unsqueeze(0);
  throw inputError(source + ": layout '" + layout + "' is not BHSD, BSHD, SBHD or THD");
}

/// The mask of a file: named, with its window and its documents.
Mask readMask(const traces::SafeTensorsFile& file, const std::string& named, std::int64_t window,
              std::int64_t length, const std::string& source) {
  if (named == "full") return Mask::full();
  if (named == "causal") return Mask::causalMask();
  if (named == "window") return Mask::slidingWindow(window);
  if (named != "documents")
    throw inputError(source + ": mask '" + named + "' is not full, causal, window or documents");
  const at::Tensor cu = toTensor(file.at("cu_seqlens"), "cu_seqlens").to(at::kLong).contiguous();
  Mask mask = Mask::packed(
      {cu.const_data_ptr<std::int64_t>(), cu.const_data_ptr<std::int64_t>() + cu.numel()}, length);
  mask.window = window;
  return mask;
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
  require(!in.sinks.defined() || (in.sinks.dim() == 1 && in.sinks.size(0) == in.q.size(1) &&
                                  in.sinks.is_floating_point()),
          "sinks must hold one floating-point logit for each query head, [Hq]");
  for (const at::Tensor* t : {&in.k, &in.v, &in.dout})
    require(t->scalar_type() == in.q.scalar_type(), "q, k, v and dout must have the same type");
}

/// What the ranks hand in: one list of shards per result.
using Shards = std::map<std::string, std::vector<at::Tensor>>;

nlohmann::json describeRun(const AttendInput& in, const AttendConfig& config,
                           const ShardLayout& layout) {
  nlohmann::json run = {{"command", "attend"},
                        {"world_size", config.cp},
                        {"dp", 1},
                        {"tp", 1},
                        {"cp", config.cp},
                        {"balance", name(layout.balance())},
                        {"mask", in.mask.name()},
                        {"window", in.mask.window},
                        {"dtype", traces::name(dtypeOf(in.q))},
                        {"transport", config.transport},
                        {"launch", config.from_environment ? "env" : "threads"},
                        {"device", config.device},
                        {"positions", "global"},
                        {"seq_len", layout.length()},
                        {"batch", in.q.size(0)},
                        {"steps", 1},
                        {"capture", config.capture},
                        {"model",
                         {{"name", "attention"},
                          {"layers", 1},
                          {"heads", in.q.size(1)},
                          {"kv_heads", in.k.size(1)},
                          {"head_dim", in.q.size(3)}}}};
  for (const TokenRun& document : in.mask.documents)
    run["documents"].push_back({document.begin, document.end});
  run.update(config.attention.describe(config.cp, in.q.size(1)));
  return run;
}

/// What all ranks of one call have in common.
struct AttendSetup {
  const AttendConfig& config;
  AttendInput in;  ///< padded where that was asked for
  ShardLayout layout;
};

/// One rank: shard, forward, backward; hands in the last results. Rank 0 keeps the times.
void runRank(RankContext& context, const AttendSetup& setup, Shards& shards,
             AttendOutcome& outcome) {
  const int rank = context.rank();
  const auto at_rank = static_cast<std::size_t>(rank);
  const AttendInput& in = setup.in;
  auto local = [&](const at::Tensor& t) {
    return shardOf(t, kSeqDim, setup.layout, rank).to(context.device);
  };
  auto together = [&] {
    context.finishDeviceWork();
    context.cp.barrier();
  };
  const at::Tensor q = local(in.q), k = local(in.k), v = local(in.v), dout = local(in.dout);
  context.observer.shard({"q", 0, static_cast<std::int16_t>(rank), true, kSeqDim,
                          in.q.sizes().vec(), q.sizes().vec(), setup.layout.runs(rank)});
  AttentionResult result;
  AttentionGradients g;
  for (int round = 0; round < setup.config.repeat; ++round) {
    const auto op = makeAttention(context, setup.config.attention, setup.layout, in.mask,
                                  Softmax{in.scale, setup.config.dropout}, in.q.size(1));
    if (in.sinks.defined()) op->setSinks(in.sinks.to(context.device));
    together();
    const std::int64_t begin = traces::steadyNow();
    result = op->forward(q, k, v, 0);
    together();
    const std::int64_t middle = traces::steadyNow();
    if (!setup.config.forward_only) g = op->backward(dout, q, k, v, result, 0);
    together();
    outcome.hops[at_rank] = op->hops();
    outcome.work[at_rank] = op->work();
    if (rank != 0) continue;
    outcome.forward_seconds.push_back(static_cast<double>(middle - begin) * 1e-9);
    outcome.backward_seconds.push_back(static_cast<double>(traces::steadyNow() - middle) * 1e-9);
  }
  const at::Tensor* all[] = {&result.out, &result.lse, &g.dq, &g.dk, &g.dv};
  for (std::size_t i = 0; i < std::size(kResults); ++i) {
    if (!all[i]->defined()) continue;
    shards.at(kResults[i])[at_rank] = all[i]->cpu();
    const auto direction = i < 2 ? traces::Direction::kForward : traces::Direction::kBackward;
    context.observer.tensor(kResults[i], {0, 0, direction, -1}, *all[i]);
  }
  if (in.sinks.defined() && g.dq.defined())
    shards.at(kSinkGradient)[at_rank] =
        sinkGradient(in.sinks.to(context.device), dout, result).cpu();
}

/// The numbers of one rank as one tensor, and back.
at::Tensor packedNumbers(const HopTotals& h, std::int64_t work) {
  return at::tensor(
      {std::int64_t{h.kv_forward}, std::int64_t{h.kv_backward}, std::int64_t{h.dkv_backward},
       std::int64_t{h.heads_forward}, std::int64_t{h.heads_backward}, h.bytes_forward,
       h.bytes_backward, h.wait_ns, work},
      at::kLong);
}
void unpackNumbers(const at::Tensor& t, HopTotals& h, std::int64_t& work) {
  const auto* n = t.const_data_ptr<std::int64_t>();
  h = {static_cast<int>(n[0]),
       static_cast<int>(n[1]),
       static_cast<int>(n[2]),
       static_cast<int>(n[3]),
       static_cast<int>(n[4]),
       n[5],
       n[6],
       n[7]};
  work = n[8];
}

/// Ranks of other processes hand their results in to rank 0.
void collect(RankContext& context, Shards& shards, AttendOutcome& outcome) {
  const auto mine = static_cast<std::size_t>(context.rank());
  auto gathered = [&](const at::Tensor& t) {
    return gatherToFirst(context.cp, t.to(context.device));
  };
  for (auto& [name, of_ranks] : shards) {
    if (!of_ranks[mine].defined()) continue;
    if (auto all = gathered(of_ranks[mine]); !all.empty()) of_ranks = std::move(all);
  }
  const auto numbers = gathered(packedNumbers(outcome.hops[mine], outcome.work[mine]));
  for (std::size_t r = 0; r < numbers.size(); ++r)
    unpackNumbers(numbers[r], outcome.hops[r], outcome.work[r]);
}

}  // namespace

AttendInput AttendInput::load(const std::string& path, const std::string& mask,
                              std::int64_t window) {
  const auto file = traces::SafeTensorsFile::read(path);
  auto metadata = [&](const char* key) {
    const auto found = file.metadata().find(key);
    return found == file.metadata().end() ? std::string() : found->second;
  };
  auto number = [&](const char* key, double otherwise) {
    const std::string text = metadata(key);
    if (text.empty()) return otherwise;
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (*end != 0 || !std::isfinite(value))
      throw inputError(path + ": " + key + " '" + text + "' is not a number");
    return value;
  };
  const std::string layout = metadata("layout");
  auto read = [&](const char* name) { return toBhsd(toTensor(file.at(name), name), layout, path); };
  AttendInput in{read("q"), read("k"), read("v"), read("dout")};
  if (file.contains("sinks")) in.sinks = toTensor(file.at("sinks"), "sinks");
  checkShapes(in, path);
  const std::string asked = !mask.empty() ? mask : metadata("mask");
  const auto seen = window > 0 ? window : static_cast<std::int64_t>(number("window", 0));
  in.mask = readMask(file, asked.empty() ? "full" : asked, seen, in.q.size(2), path);
  in.scale = number("scale", 1.0 / std::sqrt(static_cast<double>(in.q.size(3))));
  return in;
}

AttendOutcome attend(const AttendInput& input, const AttendConfig& config, Gate& gate,
                     traces::Recorder* recorder) {
  checkStrategy(config.attention, config.cp, input.q.size(1), input.k.size(1));
  const Balance balance = chooseBalance(config.balance, input.mask, config.cp);
  const Padding padding = paddingFor(input.q.size(2), input.mask, balance, config.cp, config.pad);
  auto padded = [&](const at::Tensor& t) { return padding.padded(t, kSeqDim); };
  const AttendSetup setup{config,
                          {padded(input.q), padded(input.k), padded(input.v), padded(input.dout),
                           padding.mask, input.scale, input.sinks},
                          ShardLayout(padding.length, config.cp, balance, padding.slots)};
  const auto ranks = static_cast<std::size_t>(config.cp);
  Shards shards;
  for (const char* name : kResults) shards[name].resize(ranks);
  shards[kSinkGradient].resize(ranks);
  AttendOutcome outcome;
  outcome.hops.resize(ranks);
  outcome.work.resize(ranks);
  RankThreadOptions options;
  options.mesh.cp = config.cp;
  options.recorder = recorder;
  options.capture = CapturePolicy::parse(config.capture);
  if (recorder || config.track_memory) options.memory = std::make_shared<MemoryTracker>(config.cp);
  if (recorder) recorder->note("run", describeRun(setup.in, config, setup.layout).dump());
  options.transport = config.transport;
  options.device = config.device;
  options.timeout = config.timeout;
  auto body = [&](RankContext& context) {
    runRank(context, setup, shards, outcome);
    if (config.from_environment) collect(context, shards, outcome);
  };
  const bool stopped =
      config.from_environment
          ? runRankProcess(options, RankEnvironment::read(Mesh{1, 1, config.cp}), gate, body)
          : runRankThreads(options, gate, body);
  if (stopped) throw runFailed("stopped before the end");
  if (!shards["out"].back().defined() || !shards["out"].front().defined()) return outcome;
  for (const char* name : kResults)
    if (shards[name].front().defined())
      outcome.tensors[name] =
          padding.unpadded(unshard(shards[name], kSeqDim, setup.layout), kSeqDim);
  if (const auto& parts = shards[kSinkGradient]; parts.front().defined())
    outcome.tensors[kSinkGradient] = at::stack(parts).sum(0).to(input.sinks.scalar_type());
  for (int rank = 0; options.memory && !config.from_environment && rank < config.cp; ++rank)
    outcome.peak_bytes.push_back(options.memory->peak(rank).bytes);
  return outcome;
}

std::vector<traces::DiffRecord> verifyAttend(const AttendInput& in, const AttendOutcome& outcome,
                                             bool fp8) {
  ReferenceAttention reference(in.mask, in.scale, in.sinks);
  DeviceAttention device(in.mask, in.scale, fp8, in.sinks);
  auto run = [&](AttentionOp& op) {
    const AttentionResult r = op.forward(in.q, in.k, in.v, 0);
    const AttentionGradients g = op.backward(in.dout, in.q, in.k, in.v, r, 0);
    return std::map<std::string, at::Tensor>{
        {"out", r.out},
        {"lse", r.lse},
        {"dq", g.dq},
        {"dk", g.dk},
        {"dv", g.dv},
        {kSinkGradient, in.sinks.defined() ? sinkGradient(in.sinks, in.dout, r) : at::Tensor()}};
  };
  const auto exact = run(reference), one_device = run(device);
  std::vector<traces::DiffRecord> diffs;
  for (const char* tensor : {"out", "lse", "dq", "dk", "dv", kSinkGradient}) {
    if (!outcome.tensors.contains(tensor)) continue;
    traces::DiffRecord diff;
    const bool forward = std::string_view(tensor) == "out" || std::string_view(tensor) == "lse";
    diff.place = {0, 0, forward ? traces::Direction::kForward : traces::Direction::kBackward, -1};
    diff.tensor = tensor;
    const at::Tensor& actual = outcome.tensors.at(tensor);
    measureError(diff, actual, exact.at(tensor), one_device.at(tensor).to(actual.scalar_type()));
    if (diff.tensor == kSinkGradient) {
      const at::Tensor rounding = sinkGradientRounding(
          in.sinks, in.dout, {exact.at("out"), exact.at("lse")}, unitRoundoff(in.q.scalar_type()));
      diff.noise = std::max(diff.noise, 4 * rounding.max().item<double>());
      diff.multiple = diff.error == 0 ? 0 : diff.error / diff.noise;
    }
    diffs.push_back(std::move(diff));
  }
  return diffs;
}

}  // namespace ringscope::engine

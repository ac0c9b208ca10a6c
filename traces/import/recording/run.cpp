// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "traces/import/recording/job.h"

namespace ringscope::traces {
namespace {

/// What every recorded attention was called with, as far as all agree.
struct Called {
  bool any = false, causal = true, full = true, ring = false, recomputed = false;
  double dropout = 0;
  std::optional<Line> first;
};

Called calledWith(const RankLines& rank) {
  Called called;
  for (const Line& line : rank.lines) {
    if (line.kind() != "attention" || line.text("direction") != "forward") continue;
    if (!called.first) called.first = line;
    called.recomputed = called.recomputed || line.text("pass") == "recompute";
    called.dropout = std::max(called.dropout, line.real("dropout").value_or(0));
    called.any = true;
    const bool causal = line.flag("causal"), masked = line.flag("masked");
    called.causal = called.causal && causal && !masked;
    called.full = called.full && !causal && !masked;
    called.ring = called.ring || line.has("ring");
  }
  return called;
}

std::optional<Line> firstOf(const RankLines& rank, const char* kind) {
  const auto found = std::ranges::find(rank.lines, kind, &Line::kind);
  return found == rank.lines.end() ? std::nullopt : std::optional(*found);
}

Balance balanceOf(const RankLines& rank, const Called& called) {
  const auto buffer = firstOf(rank, "buffer");
  const std::string by = buffer ? buffer->text("balance") : "";
  if (by.find("PerDocument") != std::string::npos) return Balance::kPerDocument;
  const bool balanced = called.first && called.first->part("ring").flag("load_balance");
  return by.find("HeadTail") != std::string::npos || balanced ? Balance::kHeadTail : Balance::kNone;
}

void readSizes(RunSpec& run, const RankLines& rank, const Called& called) {
  if (const auto model = firstOf(rank, "model")) {
    const Line config = model->part("config");
    run.model.name = model->text("of");
    run.model.layers = std::min<std::int64_t>(model->whole("layers", 0), 4096);
    run.model.hidden_size = config.whole("hidden_size", 0);
    run.model.vocab_size = config.whole("vocab_size", 0);
  }
  if (!called.first) return;
  const auto q = called.first->wholes("q_shape"), k = called.first->wholes("k_shape");
  if (q.size() != 4 || k.size() != 4) return;
  run.model.heads = q[1] * run.tp;
  run.model.kv_heads = k[1] * run.tp;
  run.model.head_dim = q[3];
  run.batch = q[0] * run.dp;
  run.seq_len = q[2] * (called.ring ? run.cp : 1);
}

void readMachine(RunSpec& run, const RankLines& rank) {
  const auto machine = firstOf(rank, "job");
  if (!machine) return;
  run.transport = machine->text("backend").find("nccl") != std::string::npos ? TransportKind::kNccl
                                                                             : TransportKind::kGloo;
  run.device = machine->text("device") == "cuda" ? Device::kCuda : Device::kCpu;
  run.cores =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(machine->whole("cores", 0), 0, 4096));
}

IntentRecord intentOf(const RecordedJob& job, const Line& declared, const Called& called) {
  IntentRecord meant;
  meant.mask = called.full && called.any ? MaskKind::kFull : MaskKind::kCausal;
  if (const auto mask = findByName<MaskKind>(declared.text("mask"))) meant.mask = *mask;
  meant.balance = job.run.balance.value_or(Balance::kNone);
  if (const auto rule = findByName<PositionRule>(declared.text("positions")))
    meant.positions = *rule;
  if (const auto loss = findByName<LossReduction>(declared.text("loss"))) meant.loss = *loss;
  for (const ShardRecord& shard : job.shards)
    if (shard.rank == job.shards.front().rank && shard.train_step == job.shards.front().train_step)
      meant.buffers.push_back({shard.buffer, shard.seq_dim});
  return meant;
}

}  // namespace

void addRun(RecordedJob& job) {
  const RankLines& rank = job.ranks.front();
  const Called called = calledWith(rank);
  const auto declared = firstOf(rank, "declared");
  if (!called.ring)
    job.problems.emplace_back(
        "no attention of PyTorch's ring was recorded, so how attention was shared is not known; "
        "the strategy that is shown is a default");
  RunSpec& run = job.run;
  run.command = Command::kImport;
  run.launch = Launch::kEnv;
  run.capture = "imported";
  run.recompute = called.recomputed;
  run.dropout = called.dropout;
  run.rotate = Rotate::kAllGather;
  if (called.first && called.first->part("ring").text("rotate") == "alltoall")
    run.rotate = Rotate::kAllToAll;
  run.balance = balanceOf(rank, called);
  run.mask = called.full && called.any ? MaskKind::kFull : MaskKind::kCausal;
  readSizes(run, rank, called);
  readMachine(run, rank);
  std::int32_t steps = 0;
  for (const Line& line : rank.lines)
    if (line.kind() == "step")
      steps = std::max(steps, line.place(Direction::kForward).train_step + 1);
  run.steps = steps;
  if (const auto optimizer = firstOf(rank, "optimizer")) {
    run.lr = optimizer->real("lr").value_or(0);
    run.weight_decay = optimizer->real("weight_decay").value_or(0);
  }
  const auto clip = firstOf(rank, "clip");
  run.max_norm = clip ? clip->real("max_norm").value_or(0) : 0;
  const bool one_mask = called.any && (called.causal || called.full);
  const Line meant = declared.value_or(Line(nlohmann::json::object()));
  if (one_mask || meant.has("mask")) job.intents.push_back(intentOf(job, meant, called));
  for (const ShardRecord& shard : job.shards)
    if (shard.rank == rank.rank && shard.train_step == job.shards.front().train_step)
      run.buffers.push_back({shard.buffer, shard.seq_dim, false});
}

}  // namespace ringscope::traces

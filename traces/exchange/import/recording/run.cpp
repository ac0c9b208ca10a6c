// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "traces/exchange/import/recording/called.h"
#include "traces/exchange/import/recording/job.h"
#include "traces/format/trace/admission.h"
#include "traces/plan/balance.h"

namespace ringscope::traces {
namespace {

std::optional<Line> firstOf(const RankLines& rank, const char* kind) {
  const auto found = std::ranges::find(rank.lines, kind, &Line::kind);
  return found == rank.lines.end() ? std::nullopt : std::optional(*found);
}

/// Returns the name of the function with which flex_attention modifies scores; empty: none.
std::string scoreFunction(const RankLines& rank) {
  for (const Line& line : rank.lines) {
    if (line.kind() != "attention" && line.kind() != "block") continue;
    if (std::string name = line.part("flex").text("score"); !name.empty()) return name;
  }
  return "";
}

/// Returns the balance by which the ranks of a job that cut its own batch were dealt their tokens.
std::optional<Balance> balanceOfTokens(const RecordedJob& job) {
  if (job.shards.empty()) return std::nullopt;
  const ShardRecord& first = job.shards.front();
  const auto dim = static_cast<std::size_t>(first.seq_dim);
  if (dim >= first.full_shape.size()) return std::nullopt;
  std::optional<Balance> common;
  for (const GroupRecord& group : job.groups) {
    if (group.axis != GroupAxis::kCp) continue;
    std::vector<DealtShard> dealt;
    for (std::size_t seat = 0; seat < group.members.size(); ++seat)
      if (const auto* own = job.shard(first.buffer, first.train_step, group.members[seat]))
        dealt.push_back({GroupRank::of(seat), own->global_from_local});
    const auto balance =
        findBalance(first.full_shape[dim], static_cast<std::int32_t>(group.members.size()), dealt);
    if (!balance || (common && common != balance)) return std::nullopt;
    common = balance;
  }
  return common;
}

Balance balanceFrom(const RecordedJob& job, const RankLines& rank, const Called& called) {
  if (called.by_job) return balanceOfTokens(job).value_or(Balance());
  const auto buffer = firstOf(rank, "buffer");
  const std::string by = buffer ? buffer->text("balance") : "";
  // The classes of PyTorch's load balancers.
  if (by.find("PerDocument") != std::string::npos) return *findByName<Balance>("per_document");
  const bool balanced = called.first && called.first->part("ring").flag("load_balance");
  return by.find("HeadTail") != std::string::npos || balanced ? *findByName<Balance>("head_tail")
                                                              : Balance();
}

Rotate rotateOf(const Called& called) {
  const std::string rotate = called.first ? called.first->part("ring").text("rotate") : "";
  const auto named = findByName<Rotate>(rotate);
  return named ? *named : *findByName<Rotate>("allgather");  // PyTorch's default
}

/// Returns the type in which attention computes: that of the first recorded q.
DType typeOf(const RankLines& rank) {
  for (const Line& line : rank.lines)
    if (line.kind() == "tensor" && line.text("what") == "q")
      if (const auto type = findByName<DType>(line.text("dtype"))) return *type;
  return DType::kFloat32;
}

/// Returns the length of the whole sequence: for a ring from the rows that its ranks attend,
/// otherwise from the buffers that were cut.
std::int64_t sequenceLength(const RecordedJob& job, const Called& called, std::int64_t rows) {
  if (called.ring) return rows * job.run.cp;
  if (job.shards.empty() || !job.shards.front().sharded) return rows;
  const ShardRecord& ids = job.shards.front();
  const auto dim = static_cast<std::size_t>(ids.seq_dim);
  const bool of_rows = dim < ids.full_shape.size() && ids.local_shape[dim] == rows;
  return of_rows ? ids.full_shape[dim] : rows;
}

/// Returns the number of layers that called attention; without attention, the number that the model
/// names.
std::int64_t countLayers(const RecordedJob& job, const RankLines& rank) {
  std::int64_t layers = 0;
  for (const RankLines& any : job.ranks)
    for (const Line& line : any.lines)
      if (line.kind() == "attention") layers = std::max(layers, line.whole("layer", -1) + 1);
  if (layers > 0) return std::min<std::int64_t>(layers, kMaxLayers);
  const auto model = firstOf(rank, "model");
  if (!model) return 0;
  const std::int64_t configured = model->part("config").whole("num_hidden_layers", 0);
  return std::clamp<std::int64_t>(model->whole("layers", configured), 0, kMaxLayers);
}

void readSizes(RecordedJob& job, const RankLines& rank, const Called& called) {
  RunSpec& run = job.run;
  if (const auto model = firstOf(rank, "model")) {
    const Line config = model->part("config");
    run.model.name = model->text("of");
    run.model.hidden_size = config.whole("hidden_size", 0);
    run.model.vocab_size = config.whole("vocab_size", 0);
  }
  run.model.layers = countLayers(job, rank);
  if (!called.first) return;
  const auto q = called.first->wholes("q_shape"), k = called.first->wholes("k_shape");
  if (q.size() != 4 || k.size() != 4) return;
  const auto times = [](std::int64_t extent, std::int64_t ranks) {
    return std::min(extent, std::int64_t{1} << 40) * ranks;
  };
  run.model.heads = times(q[1], run.tp);
  run.model.kv_heads = times(k[1], run.tp);
  run.model.head_dim = q[3];
  run.batch = times(q[0], run.dp);
  run.seq_len = sequenceLength(job, called, times(q[2], 1));
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

/// Returns the sequence dimension of a buffer. For buffers shaped like the token ids it is the
/// dimension with as many elements as attention has rows. When that is ambiguous, it is the
/// dimension that was cut. The shape of q can also be [S, B, H, D].
std::int32_t sequenceDim(const ShardRecord& ids, const ShardRecord& buffer, const Called& called) {
  const auto q = called.first ? called.first->wholes("q_shape") : std::vector<std::int64_t>();
  const auto& shape = ids.local_shape;
  if (q.size() != 4 || shape.size() != 2 || buffer.local_shape != shape || q[0] == q[2])
    return buffer.seq_dim;
  if (shape[0] == q[0] && shape[1] == q[2]) return 1;
  const bool other_layout = shape[0] == q[1] && shape[1] == q[0];
  return shape[0] == q[2] && shape[1] == q[0] && !other_layout ? 0 : buffer.seq_dim;
}

IntentRecord intentOf(const RecordedJob& job, const Line& declared, const Called& called) {
  IntentRecord meant;
  meant.mask = called.mask.kind.value_or(MaskKind::kCausal);
  meant.window = called.mask.window;
  meant.documents = called.mask.documents;
  if (const auto mask = findByName<MaskKind>(declared.text("mask"))) {
    meant.mask = *mask;
    meant.window =
        *mask == MaskKind::kWindow
            ? std::clamp<std::int64_t>(declared.whole("window", 1), 1, std::int64_t{1} << 30)
            : 0;
  }
  meant.balance = job.run.balance.value_or(Balance());
  if (const auto balance = findByName<Balance>(declared.text("balance"))) meant.balance = *balance;
  if (const auto rule = findByName<PositionRule>(declared.text("positions")))
    meant.positions = *rule;
  if (const auto loss = findByName<LossReduction>(declared.text("loss"))) meant.loss = *loss;
  for (const ShardRecord& shard : job.shards)
    if (shard.rank == job.shards.front().rank && shard.train_step == job.shards.front().train_step)
      meant.buffers.push_back({shard.buffer, sequenceDim(job.shards.front(), shard, called)});
  return meant;
}

/// Removes the tokens of buffers that were cut along another dimension than their sequence.
void forgetTokens(RecordedJob& job, const Called& called) {
  for (std::vector<ShardRecord>* shards : {&job.shards, &job.microbatch_shards})
    for (ShardRecord& shard : *shards)
      if (shard.sharded && sequenceDim(job.shards.front(), shard, called) != shard.seq_dim)
        shard.global_from_local.clear();
}

/// Returns the declared intention. When the job declared no mask, a window that its model's
/// configuration has for all layers is used, if it is shorter than the sequence.
std::optional<Line> declaredBy(const RankLines& rank, std::int64_t sequence) {
  auto declared = firstOf(rank, "declared");
  const auto model = firstOf(rank, "model");
  const std::int64_t window = model ? model->part("config").whole("sliding_window", 0) : 0;
  if ((declared && declared->has("mask")) || window <= 0 || window >= sequence) return declared;
  nlohmann::json meant = declared ? declared->json() : nlohmann::json::object();
  meant["mask"] = name(MaskKind::kWindow);
  meant["window"] = window;
  return Line(meant);
}

}  // namespace

void addRun(RecordedJob& job) {
  const RankLines& rank = job.ranks.front();
  const Called called = calledWith(rank);
  if (!called.ring)
    job.lacks.emplace_back(
        "no attention of PyTorch's ring was recorded, none was recognised and none was annotated "
        "(ringscope.attention()), so how attention was shared is not known; the strategy that is "
        "shown is a default");
  RunSpec& run = job.run;
  run.command = Command::kImport;
  run.launch = Launch::kEnv;
  run.capture = "imported";
  run.recompute = called.recomputed;
  run.dropout = called.dropout;
  run.rotate = rotateOf(called);
  for (const Line& line : rank.lines)
    if (line.kind() == "attention_end")
      run.strategy = findByName<Strategy>(line.text("strategy")).value_or(run.strategy);
  run.balance = balanceFrom(job, rank, called);
  run.dtype = typeOf(rank);
  run.mask = called.mask.kind.value_or(MaskKind::kCausal);
  if (run.mask == MaskKind::kWindow) run.window = called.mask.window;
  readSizes(job, rank, called);
  job.declared = declaredBy(rank, run.seq_len);
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
  const Line meant = job.declared.value_or(Line(nlohmann::json::object()));
  if (const std::string score = scoreFunction(rank); !score.empty())
    job.lacks.push_back("flex_attention changes scores by a function (" + score +
                        "), of which no numbers are recorded, so what attention should be "
                        "cannot be computed and nothing is judged by what the job declared");
  else if (called.mask.kind || meant.has("mask"))
    job.intents.push_back(intentOf(job, meant, called));
  forgetTokens(job, called);
  for (const ShardRecord& shard : job.shards)
    if (shard.rank == rank.rank && shard.train_step == job.shards.front().train_step)
      run.buffers.push_back({shard.buffer, shard.seq_dim, false});
}

}  // namespace ringscope::traces

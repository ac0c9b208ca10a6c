// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include "traces/core/hash.h"
#include "traces/import/recording/job.h"
#include "traces/import/recording/labels.h"
#include "traces/schema/other_tensors.h"

namespace ringscope::traces {
namespace {

struct KeyBefore {
  bool operator()(const TensorKey& a, const TensorKey& b) const { return keyBefore(a, b); }
};

/// How a tensor of the recorder is called here.
struct Meaning {
  const char* what;
  TensorKind kind;
  Direction direction;
  bool of_layer;  ///< false: it has no layer here
};

constexpr Meaning kMeanings[] = {
    {"q", TensorKind::kQ, Direction::kForward, true},
    {"k", TensorKind::kK, Direction::kForward, true},
    {"v", TensorKind::kV, Direction::kForward, true},
    {"out", TensorKind::kOut, Direction::kForward, true},
    {"lse", TensorKind::kLse, Direction::kForward, true},
    {"dout", TensorKind::kDout, Direction::kBackward, true},
    {"dq", TensorKind::kDq, Direction::kBackward, true},
    {"dk", TensorKind::kDk, Direction::kBackward, true},
    {"dv", TensorKind::kDv, Direction::kBackward, true},
    {"kv", TensorKind::kKv, Direction::kForward, true},
    {"block_out", TensorKind::kBlockOut, Direction::kForward, true},
    {"block_lse", TensorKind::kBlockLse, Direction::kForward, true},
    {"running_lse", TensorKind::kRunningLse, Direction::kForward, true},
    {"rotary_position_ids", TensorKind::kPositionIds, Direction::kForward, false},
    {"position_ids", TensorKind::kPositionIds, Direction::kForward, false},
    {"rotary_cos", TensorKind::kCos, Direction::kForward, false},
    {"rotary_sin", TensorKind::kSin, Direction::kForward, false},
    {"cos", TensorKind::kCos, Direction::kForward, false},
    {"sin", TensorKind::kSin, Direction::kForward, false},
    {"logits", TensorKind::kLogits, Direction::kForward, false},
    {"grad_unclipped", TensorKind::kGradient, Direction::kBackward, false},
    {"grad", TensorKind::kGradient, Direction::kBackward, false},
    {"weight", TensorKind::kWeight, Direction::kBackward, false},
};

/// One rank's tensors, the more telling of two for the same place first.
class TensorLines {
 public:
  TensorLines(RecordedJob& job, const RankLines& rank) : job_(job), rank_(rank) {
    for (const Line& line : rank.lines) {
      if (line.kind() == "tensor") by_id_[line.whole("id")] = &line;
      if (line.text("what") == "grad_before_sync")
        summed_[{line.whole("step"), line.text("name")}] = line.whole("id");
      if (line.kind() == "placed")
        for (const std::string& placed : line.texts("placements"))
          if (!placed.starts_with("Replicate") && placed != "R") sharded_.insert(line.text("name"));
    }
  }

  void read() {
    for (const Meaning& meaning : kMeanings) {
      std::vector<const Line*> lines;
      for (const auto& [id, line] : by_id_)
        if (line->text("what") == meaning.what) lines.push_back(line);
      // After the last merge of a ring step.
      if (meaning.kind == TensorKind::kRunningLse) std::ranges::reverse(lines);
      for (const Line* line : lines) addAs(meaning, *line);
    }
    addBatches();
    addBuffers();
    addTargets();
    addLosses();
  }

 private:
  void addAs(const Meaning& meaning, const Line& line) {
    if (line.text("what") == "grad_unclipped" && isSummedLater(line)) return;
    const bool named = meaning.kind == TensorKind::kGradient || meaning.kind == TensorKind::kWeight;
    const bool is_part = sharded_.contains(line.text("name")) && !line.flag("joined");
    if (named && (line.text("name").empty() || is_part)) return;
    if (meaning.kind == TensorKind::kLogits && !isOfEveryToken(line)) return;
    TensorRecord tensor;
    tensor.tensor = {meaning.kind, named ? line.text("name") : ""};
    const bool held_in_backward =
        meaning.kind == TensorKind::kKv && line.text("pass") == "backward";
    tensor.place = line.place(held_in_backward ? Direction::kBackward : meaning.direction);
    if (!meaning.of_layer) tensor.place.layer = Layer::none();
    if (meaning.of_layer && tensor.place.layer.isNone()) return;
    tensor.source_rank = WorldRank::of(std::min<std::int64_t>(line.whole("source_rank"), 1 << 20));
    tensor.piece = PieceIndex::of(std::min<std::int64_t>(line.whole("piece"), 1 << 20));
    add(std::move(tensor), line);
  }

  /// Whether logits have a row for each token that the rank owns, as far as these are known.
  bool isOfEveryToken(const Line& logits) const {
    const ShardRecord* ids =
        job_.shard("input_ids", logits.place(Direction::kForward).train_step, rank_.rank);
    std::vector<std::int64_t> rows = logits.wholes("shape");
    if (!ids || rows.empty()) return true;
    rows.pop_back();
    return countOf(rows) == countOf(ids->local_shape);
  }

  /// Of a gradient that was clipped: whether it went into a sum over ranks only afterwards.
  bool isSummedLater(const Line& clipped) const {
    const auto summed = summed_.find({clipped.whole("step"), clipped.text("name")});
    return summed != summed_.end() && summed->second > clipped.whole("id");
  }

  /// Fills in what every line of a tensor says, and takes its values.
  void add(TensorRecord tensor, const Line& line) {
    const auto dtype = findByName<DType>(line.text("dtype"));
    if (!dtype || !line.has("stats")) return;
    tensor.dtype = *dtype;
    if (tensor.shape.empty()) tensor.shape = line.wholes("shape");
    tensor.microbatch = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(line.whole("microbatch", 0), 0, 1 << 20));
    tensor.pass = line.text("pass") == "recompute" ? Pass::kRecompute : Pass::kForward;
    if (tensor.place.direction == Direction::kBackward) tensor.pass = Pass::kBackward;
    tensor.hash = line.hash("hash").value_or(0);
    tensor.hash_algorithm = line.flag("joined") ? rank_.hash_of_parts : rank_.hash;
    const Line stats = line.part("stats");
    tensor.stats = {stats.real("min").value_or(0),  stats.real("max").value_or(0),
                    stats.real("mean").value_or(0), stats.real("abs_max").value_or(0),
                    stats.whole("nan", 0),          stats.whole("inf", 0)};
    auto values = job_.values->of(line, *dtype, line.wholes("shape"), job_.problems);
    keep(std::move(tensor), std::move(values));
  }

  void keep(TensorRecord tensor, std::optional<Bytes> values) {
    tensor.rank = rank_.rank;
    if (!seen_.insert(tensor).second) return;
    tensor.id = TensorId::of(job_.tensors.size() + 1);
    tensor.has_values = values.has_value();
    if (values) job_.kept[tensor.id.value()] = std::move(*values);
    job_.tensors.push_back(std::move(tensor));
  }

  const Line* tensorOf(const Line& line, const char* key) const {
    const auto found = by_id_.find(line.whole(key));
    return found == by_id_.end() ? nullptr : found->second;
  }

  /// The token ids before they were cut.
  void addBatches() {
    for (const Line& line : rank_.lines) {
      const Line* whole = line.kind() == "buffer" ? tensorOf(line, "whole") : nullptr;
      const std::int32_t step = line.place(Direction::kForward).train_step;
      if (!whole || bufferOf(line) != "input_ids") continue;
      TensorRecord tensor;
      tensor.tensor = {TensorKind::kOther, kWholeBatch};
      tensor.place = {step};
      add(std::move(tensor), *whole);
    }
  }

  /// Under which name a buffer is known here.
  std::string bufferOf(const Line& line) const {
    const std::int32_t step = line.place(Direction::kForward).train_step;
    std::string name = line.text("name");
    for (const ShardRecord& shard : job_.shards)
      if (shard.rank == rank_.rank && shard.train_step == step &&
          shard.local_shape == line.wholes("local_shape") &&
          shard.seq_dim == line.whole("seq_dim") && !job_.shard(name, step, rank_.rank))
        name = shard.buffer;
    return name;
  }

  /// What the loss took as targets counts as labels, so those that were cut have another name here.
  void addBuffers() {
    for (const Line& line : rank_.lines) {
      if (line.kind() != "buffer") continue;
      const Line* values = tensorOf(line, "shard");
      const std::int32_t step = line.place(Direction::kForward).train_step;
      const std::string name = bufferOf(line);
      if (!values || name == "labels") continue;
      TensorRecord tensor;
      tensor.tensor = {TensorKind::kBuffer, name};
      tensor.place = {step};
      add(std::move(tensor), *values);
    }
  }

  /// Targets as the loss had them, in the shape of the token ids. A loss that left out the last row
  /// of each sequence has no target there.
  void addTargets() {
    for (const Line& line : rank_.lines) {
      if (line.kind() != "loss") continue;
      const std::int32_t step = line.place(Direction::kForward).train_step;
      const auto found = by_id_.find(line.part("tensors").whole("targets"));
      const ShardRecord* ids = job_.shard("input_ids", step, rank_.rank);
      if (found == by_id_.end() || !ids) continue;
      const std::int64_t given = countOf(found->second->wholes("shape")),
                         owned = countOf(ids->local_shape);
      const bool without_last = ids->local_shape.size() == 2 && owned > 0 &&
                                given == owned - ids->local_shape.front() &&
                                found->second->text("dtype") == "int64";
      if (given != owned && !without_last) continue;
      TensorRecord tensor;
      tensor.tensor = {TensorKind::kBuffer, "labels"};
      tensor.place = {step};
      tensor.shape = ids->local_shape;
      if (given == owned)
        add(std::move(tensor), *found->second);
      else
        addWithoutLast(std::move(tensor), *found->second, line.real("ignore_index").value_or(-100));
      if (job_.shard("labels", step, rank_.rank)) continue;
      ShardRecord made = *ids;
      made.buffer = "labels";
      made.sharded = false;
      made.full_shape.clear();
      job_.shards.push_back(std::move(made));
    }
  }

  void addWithoutLast(TensorRecord tensor, const Line& targets, double ignored) {
    const auto values =
        job_.values->of(targets, DType::kInt64, targets.wholes("shape"), job_.problems);
    if (!values) return;
    constexpr double kMost = 1e15;
    auto labels = labelsWithoutLast(tensor, *values,
                                    static_cast<std::int64_t>(std::clamp(ignored, -kMost, kMost)));
    keep(std::move(tensor), std::move(labels));
  }

  static std::int64_t countOf(const std::vector<std::int64_t>& shape) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) {
      if (extent < 0 || extent > (std::int64_t{1} << 30)) return -1;
      count *= extent;
      if (count > (std::int64_t{1} << 40)) return -1;
    }
    return count;
  }

  /// The sum over a training step's microbatches, of each rank.
  void addLosses() {
    std::map<std::int32_t, std::pair<double, std::int64_t>> sums;
    std::set<std::int32_t> unknown;
    for (const Line& line : rank_.lines) {
      if (line.kind() != "loss") continue;
      const std::int32_t step = line.place(Direction::kForward).train_step;
      const auto sum = line.real("sum");
      if (!sum || line.flag("weighted") || line.whole("targets") < 0) {
        unknown.insert(step);
        continue;
      }
      sums[step].first += *sum;
      sums[step].second += line.whole("targets");
    }
    for (const auto& [step, sum] : sums) {
      if (unknown.contains(step)) continue;
      addNumber(step, kOwnLossSum, DType::kFloat64, sum.first, sum.first);
      addNumber(step, kOwnTargets, DType::kInt64, sum.second, static_cast<double>(sum.second));
    }
  }

  template <typename Number>
  void addNumber(std::int32_t step, const char* name, DType dtype, Number number, double value) {
    TensorRecord tensor;
    tensor.tensor = {TensorKind::kOther, name};
    tensor.place = {step};
    tensor.dtype = dtype;
    tensor.shape = {1};
    tensor.stats = {value, value, value, std::abs(value), 0, 0};
    tensor.hash = mixSum64(&number, sizeof number);
    Bytes bytes(sizeof number);
    std::memcpy(bytes.data(), &number, sizeof number);
    keep(std::move(tensor), std::move(bytes));
  }

  RecordedJob& job_;
  const RankLines& rank_;
  std::map<std::int64_t, const Line*> by_id_;
  /// By training step and parameter: the last tensor that went into a sum over ranks.
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> summed_;
  std::set<std::string> sharded_;
  std::set<TensorKey, KeyBefore> seen_;
};

}  // namespace

void addTensors(RecordedJob& job) {
  for (const RankLines& rank : job.ranks) TensorLines(job, rank).read();
}

}  // namespace ringscope::traces

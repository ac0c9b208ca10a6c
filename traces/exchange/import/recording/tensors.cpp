// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "traces/exchange/import/recording/tensor_lines.h"
#include "traces/format/schema/other_tensors.h"

namespace ringscope::traces {
namespace {

/// The schema's kind and place for a tensor of the recorder.
struct Meaning {
  const char* what;
  TensorKind kind;
  Direction direction;
  bool of_layer;  ///< false: the schema gives it no layer
};

constexpr Meaning kMeanings[] = {
    {"sinks", TensorKind::kSinks, Direction::kForward, true},
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

/// The tensors of one rank. When two tensors have the same place, the more informative one comes
/// first.
class PlacedTensors {
 public:
  PlacedTensors(RecordedJob& job, const RankLines& rank)
      : job_(job), rank_(rank), names_(rank), lines_(rank, job.problems), sink_(job, rank) {
    for (const Line* line : lines_.called("grad_before_sync"))
      summed_[{line->whole("step"), line->text("name")}] = line->whole("id");
    for (const Line& line : rank.lines)
      if (line.kind() == "placed")
        for (const std::string& placed : line.texts("placements"))
          if (!placed.starts_with("Replicate") && placed != "R") sharded_.insert(line.text("name"));
  }

  void read() {
    for (const Meaning& meaning : kMeanings) {
      auto lines = lines_.called(meaning.what);
      // The running lse after the last merge of a ring step is wanted.
      if (meaning.kind == TensorKind::kRunningLse) std::ranges::reverse(lines);
      for (const Line* line : lines) addAs(meaning, *line);
    }
    addBatches();
    addBuffers();
    addLosses(job_, rank_, lines_, sink_);
  }

 private:
  void addAs(const Meaning& meaning, const Line& line) {
    if (meaning.what == std::string_view("grad_unclipped") && isSummedLater(line)) return;
    const bool named = meaning.kind == TensorKind::kGradient || meaning.kind == TensorKind::kWeight;
    const std::string name = named ? line.text("name") : "";
    const bool is_part = sharded_.contains(name) && !line.flag("joined");
    if (named && (name.empty() || is_part)) return;
    if (meaning.kind == TensorKind::kLogits && !isOfEveryToken(line)) return;
    TensorRecord tensor;
    tensor.tensor = {meaning.kind, name};
    const bool held_in_backward =
        meaning.kind == TensorKind::kKv && line.text("pass") == "backward";
    tensor.place = line.place(held_in_backward ? Direction::kBackward : meaning.direction);
    if (!meaning.of_layer) tensor.place.layer = Layer::none();
    if (meaning.of_layer && tensor.place.layer.isNone()) return;
    tensor.source_rank = WorldRank::of(std::min<std::int64_t>(line.whole("source_rank"), 1 << 20));
    tensor.piece = PieceIndex::of(std::min<std::int64_t>(line.whole("piece"), 1 << 20));
    sink_.add(std::move(tensor), line);
  }

  /// Reports whether logits have a row for each token that the rank owns; true when its tokens are
  /// unknown.
  bool isOfEveryToken(const Line& logits) const {
    const ShardRecord* ids =
        job_.shard("input_ids", logits.place(Direction::kForward).train_step, rank_.rank);
    std::vector<std::int64_t> rows = logits.wholes("shape");
    if (!ids || rows.empty()) return true;
    rows.pop_back();
    return countElements(rows) == countElements(ids->local_shape);
  }

  /// Reports whether a clipped gradient was reduced over ranks only after the clipping.
  bool isSummedLater(const Line& clipped) const {
    const auto summed = summed_.find({clipped.whole("step"), clipped.text("name")});
    return summed != summed_.end() && summed->second > clipped.whole("id");
  }

  /// Adds the token ids before they were cut.
  void addBatches() {
    for (const Line& line : rank_.lines) {
      const Line* whole = line.kind() == "buffer" ? lines_.of(line.whole("whole")) : nullptr;
      const std::int32_t step = line.place(Direction::kForward).train_step;
      if (!whole || names_.nameFor(line) != "input_ids") continue;
      TensorRecord tensor;
      tensor.tensor = {TensorKind::kOther, kWholeBatch};
      tensor.place = {step};
      sink_.add(std::move(tensor), *whole);
    }
  }

  /// Adds the cut buffers. The targets that the loss took are the labels, so buffers that were cut
  /// as labels get another name.
  void addBuffers() {
    for (const Line& line : rank_.lines) {
      if (line.kind() != "buffer") continue;
      const Line* values = lines_.of(line.whole("shard"));
      const std::int32_t step = line.place(Direction::kForward).train_step;
      const std::string name = names_.nameFor(line);
      if (!values || name == "labels") continue;
      TensorRecord tensor;
      tensor.tensor = {TensorKind::kBuffer, name};
      tensor.place = {step};
      sink_.add(std::move(tensor), *values);
    }
  }

  RecordedJob& job_;
  const RankLines& rank_;
  BufferNames names_;
  TensorLines lines_;
  TensorSink sink_;
  /// Number of the last tensor that was reduced over ranks, by training step and parameter.
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> summed_;
  std::set<std::string> sharded_;
};

}  // namespace

void addTensors(RecordedJob& job) {
  for (const RankLines& rank : job.ranks) PlacedTensors(job, rank).read();
}

}  // namespace ringscope::traces

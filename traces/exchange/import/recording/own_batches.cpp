// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/recording/own_batches.h"

#include <algorithm>

#include "traces/exchange/import/recording/called.h"
#include "traces/exchange/import/recording/shared_attention.h"
#include "traces/exchange/import/recording/tensor_lines.h"

namespace ringscope::traces {
namespace {

/// Reads the batches of all ranks at each training step.
class BatchReader {
 public:
  explicit BatchReader(RecordedJob& job) : job_(job) {}

  std::map<std::int32_t, std::vector<OwnBatch>> read() {
    std::map<std::int32_t, std::vector<OwnBatch>> steps;
    const auto sharing = groupsBySharedKeys(job_);
    for (RankLines& rank : job_.ranks) {
      const bool cut =
          std::ranges::any_of(rank.lines, [](const Line& line) { return line.kind() == "buffer"; });
      const auto attention = std::ranges::find_if(rank.lines, isRecognised);
      const bool is_recognised = attention != rank.lines.end();
      if (cut || (!is_recognised && !sharing.contains(rank.rank))) return {};
      std::map<std::int32_t, OwnBatch> own;
      const std::string group =
          is_recognised ? attention->part("ring").text("group") : sharing.at(rank.rank);
      readRank(rank, own);
      for (auto& [step, batch] : own) {
        batch.rank = &rank;
        batch.group = group;
        if (is_recognised) batch.order = attention->text("order");
        if (!batch.ids.empty()) steps[step].push_back(std::move(batch));
      }
    }
    return steps;
  }

 private:
  void readRank(const RankLines& rank, std::map<std::int32_t, OwnBatch>& own) {
    const TensorLines lines(rank, job_.problems);
    for (const Line& line : rank.lines) {
      if (line.whole("microbatch", 0) != 0) continue;
      OwnBatch& batch = own[line.place(Direction::kForward).train_step];
      if (line.kind() == "embedding" && !batch.ids_line) {
        batch.ids_line = lines.of(line.whole("ids"));
        const auto dims = batch.ids_line ? batch.ids_line->wholes("shape").size() : 0;
        if (dims != 1 && dims != 2)
          batch.ids_line = nullptr;
        else
          batch.ids = readIntegers(job_, *batch.ids_line, rank.hash);
      }
      if (line.kind() == "loss" && !isOfFurtherHead(line) && batch.targets.empty()) {
        batch.ignored = static_cast<std::int64_t>(
            std::clamp(line.real("ignore_index").value_or(-100), -1e15, 1e15));
        if (const Line* targets = lines.of(line.part("tensors").whole("targets")))
          batch.targets = readIntegers(job_, *targets, rank.hash);
      }
      const std::string what = line.text("what");
      if ((what == "position_ids" || what == "rotary_position_ids") && batch.positions.empty())
        batch.positions = readIntegers(job_, line, rank.hash);
    }
  }

  RecordedJob& job_;
};

}  // namespace

std::map<std::int32_t, std::vector<OwnBatch>> readOwnBatches(RecordedJob& job) {
  return BatchReader(job).read();
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/precision.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "traces/analysis/verify/rounding/roundoff.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/own_tokens.h"
#include "traces/format/trace/recorder_request.h"

namespace ringscope::traces {
namespace {

/// Kernels of GPUs round in other tiles than those of CPUs, for which the variances were measured.
constexpr double kOnGpu = 1.5;
/// Kernels of other programs may sum in another order.
constexpr double kOtherProgram = 4;
/// Attention that a job writes itself may round each partial sum to 16 bits, also on its way home,
/// and each operation on its scores.
constexpr double kSumsInSixteenBits = 24;

/// A rank that attends the first query head of a layer.
struct Attending {
  const ScheduleRecord* schedule;
  std::vector<std::size_t> rows;  ///< token of each local row
};

/// Returns nothing when a schedule is missing or names a token that the layer does not have.
std::optional<std::map<WorldRank, Attending>> ranksOfFirstHead(const Trace& trace,
                                                               const LayerTensors& layer) {
  std::map<WorldRank, Attending> ranks;
  std::int64_t first_head = 0;
  for (const WorldRank rank : std::set<WorldRank>(layer.owners.begin(), layer.owners.end())) {
    const auto* schedule = trace.schedule(layer.pass.train_step, rank, Direction::kForward,
                                          layer.pass.layer, layer.pass.microbatch);
    if (!schedule) return std::nullopt;
    first_head =
        ranks.empty() ? schedule->q_head_begin : std::min(first_head, schedule->q_head_begin);
    Attending& attending = ranks[rank] = {schedule, {}};
    for (const TokenIndex token : attendedTokens(*schedule, layer.tokens.size() + 1)) {
      const auto at = std::ranges::lower_bound(layer.tokens, token);
      if (at == layer.tokens.end() || *at != token) return std::nullopt;
      attending.rows.push_back(static_cast<std::size_t>(at - layer.tokens.begin()));
    }
  }
  std::erase_if(ranks, [&](const auto& rank) {
    const ScheduleRecord& schedule = *rank.second.schedule;
    return first_head < schedule.q_head_begin || first_head >= schedule.q_head_end;
  });
  return ranks;
}

/// Returns one block per owner of keys, each of which every row merges.
MergedBlocks blocksOfOwners(const LayerTensors& layer) {
  const std::set<WorldRank> owners(layer.owners.begin(), layer.owners.end());
  MergedBlocks blocks;
  blocks.blocks = std::max<std::size_t>(1, owners.size());
  const std::vector<double> all(layer.tokens.size(), static_cast<double>(blocks.blocks));
  blocks.row_blocks = blocks.row_parts = blocks.key_parts = all;
  for (const WorldRank owner : layer.owners)
    blocks.block_of_key.push_back(
        static_cast<std::size_t>(std::distance(owners.begin(), owners.find(owner))));
  return blocks;
}

}  // namespace

DType computedType(const LayerTensors& layer) {
  const auto out = layer.tensors.find(TensorKind::kOut);
  const auto& recorded = out == layer.tensors.end() || out->second.empty()
                             ? layer.tensors.at(TensorKind::kQ)
                             : out->second;
  return recorded.front().record->dtype;
}

MergedBlocks recordedBlocks(const Trace& trace, const LayerTensors& layer) {
  const auto ranks = ranksOfFirstHead(trace, layer);
  if (!ranks) return blocksOfOwners(layer);
  MergedBlocks blocks;
  blocks.blocks = std::max<std::size_t>(1, ranks->size());
  blocks.block_of_key.assign(layer.tokens.size(), 0);
  blocks.row_blocks = blocks.row_parts = blocks.key_parts =
      std::vector<double>(layer.tokens.size(), 0);
  std::size_t block = 0;
  for (const auto& [rank, attending] : *ranks) {
    for (const std::size_t token : attending.rows) blocks.block_of_key[token] = block;
    ++block;
    for (const StageRecord& stage : attending.schedule->stages) {
      const auto source = ranks->find(stage.source_rank);
      if (source == ranks->end()) continue;
      std::vector<Piece> pieces;
      for (const PieceRecord& piece : stage.pieces) pieces.push_back({piece});
      blocks.countPieces(pieces, attending.rows, source->second.rows);
    }
  }
  return blocks;
}

Precision findPrecision(const Trace& trace, const LayerTensors& layer, const Selection& selection) {
  std::vector<std::size_t> keys(layer.tokens.size());
  std::iota(keys.begin(), keys.end(), std::size_t{0});
  return {computedType(layer), recordedBlocks(trace, layer).selected(selection.rows, keys),
          limitWidening(trace, layer).factor};
}

bool isFromOtherProgram(const Trace& trace) {
  return !trace.run() || trace.run()->command == Command::kImport;
}

Widening limitWidening(const Trace& trace, const LayerTensors& layer) {
  const auto reason = [](double factor, const std::string& why) {
    return Widening{factor,
                    "limits are " + describeSignificant(factor, 2) +
                        " times those of the engine's kernels on a CPU, since " + why,
                    factor == kSumsInSixteenBits};
  };
  const DType computed = computedType(layer);
  if (hasRecognisedAttention(trace) && unitRoundoff(computed) > unitRoundoff(DType::kFloat32))
    return reason(kSumsInSixteenBits, "the recording does not say in which type sums were kept");
  if (isFromOtherProgram(trace))
    return reason(kOtherProgram, "the recording does not say which kernels computed attention");
  if (trace.run()->device == Device::kCuda)
    return reason(kOnGpu, "the recording does not say how kernels of the GPU cut their sums");
  return {};
}

}  // namespace ringscope::traces

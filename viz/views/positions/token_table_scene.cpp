// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/positions/token_table_scene.h"

#include <algorithm>
#include <map>

#include "traces/format/core/whole_number.h"
#include "traces/format/schema/other_tensors.h"
#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/groups.h"
#include "viz/scene/meant.h"
#include "viz/scene/tensor_slice.h"

namespace ringscope::viz {
namespace {

using traces::Trace;

/// A rank's own values of a buffer; for position ids those that the model used, sharded or not.
std::optional<std::vector<double>> bufferValues(const Trace& trace, const std::string& buffer,
                                                int train_step, WorldRank rank) {
  const auto* tensor = trace.findTensor(
      traces::TensorName::of(buffer == "position_ids" ? buffer : "buffer." + buffer), {train_step},
      rank);
  return tensor ? trace.values(*tensor) : std::nullopt;
}

/// The sequence's tokens by global index, put together from all ranks.
std::map<TokenIndex, std::int64_t> wholeSequence(const Trace& trace, int train_step,
                                                 const std::vector<WorldRank>& ranks) {
  std::map<TokenIndex, std::int64_t> tokens;
  for (const WorldRank rank : ranks) {
    const auto* shard = trace.findShard("input_ids", train_step, rank);
    const auto values = bufferValues(trace, "input_ids", train_step, rank);
    if (!shard || !values) continue;
    std::size_t local = 0;
    for (const auto& run : shard->global_from_local)
      for (std::int64_t g = run.begin; g < run.end && local < values->size(); ++g)
        tokens[TokenIndex::of(g)] = traces::wholeNumber((*values)[local++]);
  }
  return tokens;
}

std::optional<std::int64_t> at(const std::optional<std::vector<double>>& values, std::size_t i) {
  if (!values || i >= values->size()) return std::nullopt;
  return traces::wholeNumber((*values)[i]);
}

/// RingScope's own runs record every cut, so values without one were made by the rank. A recorder
/// of somebody else's job may have missed the cut, or knows it under another name.
BufferCut uncut(const Trace& trace) {
  return traces::isForeign(trace) ? BufferCut::kUnknown : BufferCut::kOwn;
}

BufferLane cutLane(const Trace& trace, const traces::ShardRecord& shard) {
  BufferLane lane;
  lane.name = shard.buffer;
  lane.cut = shard.sharded ? BufferCut::kSharded : uncut(trace);
  lane.full_shape = shard.full_shape;
  lane.local_shape = shard.local_shape;
  return lane;
}

BufferLane laneOf(const Trace& trace, const std::string& name, int train_step, WorldRank rank) {
  if (const auto* shard = trace.findShard(name, train_step, rank)) return cutLane(trace, *shard);
  BufferLane lane;
  lane.name = name;
  const auto* tensor = trace.findTensor(traces::TensorName::of(name), {train_step}, rank);
  if (!tensor) return lane;
  lane.cut = uncut(trace);
  lane.local_shape = tensor->shape;
  return lane;
}

/// Adds the sharded buffers that have no lane yet.
void addOtherCuts(TokenTable& table, const Trace& trace) {
  constexpr std::size_t kMost = 6;
  for (const traces::ShardRecord& shard : trace.shards()) {
    if (shard.rank != table.rank || shard.train_step != table.train_step) continue;
    if (table.buffers.size() >= kMost) return;
    const auto known = std::ranges::find(table.buffers, shard.buffer, &BufferLane::name);
    if (known != table.buffers.end()) continue;
    table.buffers.push_back(cutLane(trace, shard));
    table.buffers.back().not_compared = "not compared";
  }
}

void count(TokenTable& table, const Meant& meant) {
  for (BufferLane& lane : table.buffers) {
    for (const TokenCell& cell : table.cells) {
      if (lane.name == "position_ids") {
        lane.compared += cell.position && cell.should_position;
        lane.wrong += cell.positionWrong();
      } else if (lane.name == "labels") {
        lane.compared += cell.label && cell.should_label;
        lane.wrong += cell.labelWrong();
      } else {
        lane.compared += cell.token && cell.should_token;
        lane.wrong += cell.tokenWrong();
      }
    }
    if (lane.compared > 0) continue;
    const std::string missing = lane.name == "position_ids" ? meant.positionsMissing() : "";
    lane.not_compared = !missing.empty()           ? missing
                        : lane.name == "input_ids" ? "the whole batch is not recorded"
                                                   : "its values are not recorded";
  }
}

/// Removes everything that says how the buffers should be.
void seal(TokenTable& table) {
  for (TokenCell& cell : table.cells)
    cell.should_token = cell.should_position = cell.should_label = std::nullopt;
  for (BufferLane& lane : table.buffers) {
    if (lane.cut != BufferCut::kNotRecorded) lane.cut = BufferCut::kSealed;
    lane.wrong = lane.compared = 0;
    lane.not_compared = kSealedWords;
  }
}

}  // namespace

TokenTable makeTokenTable(const Trace& trace, const Cursor& cursor) {
  TokenTable table;
  const int train_step = cursor.place.train_step;
  const WorldRank rank = cursor.rank;
  const auto ranks = groupRanks(trace, cursor.group);
  table.rank = rank;
  table.train_step = train_step;
  if (const auto* run = trace.run(); run && run->model.vocab_size > 0)
    table.vocabulary = run->model.vocab_size;
  const auto* shard = trace.findShard("input_ids", train_step, rank);
  const auto tokens = bufferValues(trace, "input_ids", train_step, rank);
  if (!shard || !tokens) {
    const bool attends = trace.run() && trace.run()->command == traces::Command::kAttend;
    table.missing =
        attends ? "attend has no tokens" : traces::captureAdvice(trace, "stats", "would show it");
    return table;
  }
  if (!shard->full_shape.empty()) table.sequence_length = shard->full_shape.back();
  const auto positions = bufferValues(trace, "position_ids", train_step, rank);
  const auto labels = bufferValues(trace, "labels", train_step, rank);
  const auto whole = wholeSequence(trace, train_step, ranks);
  const Meant meant(trace, train_step, ranks);
  const auto* batch =
      trace.findTensor({traces::TensorKind::kOther, traces::kWholeBatch}, {train_step}, rank);
  const auto all_tokens = batch ? trace.values(*batch) : std::nullopt;
  for (const auto& run : shard->global_from_local)
    for (std::int64_t g = run.begin; g < run.end && table.cells.size() < tokens->size(); ++g) {
      const std::size_t i = table.cells.size();
      TokenCell cell;
      cell.global = TokenIndex::of(g);
      cell.should_position = meant.tokenPosition(cell.global);
      cell.begins_document = meant.documentBeginsAt(cell.global);
      cell.token = at(tokens, i);
      if (g < table.sequence_length) cell.should_token = at(all_tokens, cell.global.index());
      cell.position = at(positions, i);
      cell.label = at(labels, i);
      if (const auto next = whole.find(cell.global.next()); next != whole.end())
        cell.should_label = next->second;
      cell.begins_chunk = g == run.begin;
      table.cells.push_back(cell);
    }
  for (const char* name : {"input_ids", "labels", "position_ids"})
    table.buffers.push_back(laneOf(trace, name, train_step, rank));
  count(table, meant);
  addOtherCuts(table, trace);
  if (cursor.sealed) seal(table);
  return table;
}

std::string describeCut(const BufferLane& lane) {
  const std::string local = describeShape(lane.local_shape);
  switch (lane.cut) {
    case BufferCut::kSharded:
      return "sharded: " + local + " of " + describeShape(lane.full_shape);
    case BufferCut::kOwn:
      return "▲ not sharded: the rank made " + local + " by itself";
    case BufferCut::kUnknown:
      return "– no cut of it is recorded: the rank has " + local;
    case BufferCut::kSealed:
      return "the rank has " + local;
    case BufferCut::kNotRecorded:
      break;
  }
  return "– not recorded";
}

std::string describeValues(const BufferLane& lane) {
  if (lane.cut == BufferCut::kNotRecorded) return "";
  if (lane.compared == 0) return "– " + lane.not_compared;
  if (lane.wrong == 0) return "✓ " + std::to_string(lane.compared) + " as they should be";
  return "▲ " + std::to_string(lane.wrong) + " of " + std::to_string(lane.compared) + " differ";
}

std::string tokenText(std::int64_t token, std::int64_t vocabulary) {
  if (token < 0) return "none";
  if (vocabulary > 512 || token > 255) return std::to_string(token);
  if (token == ' ') return "␣";
  if (token == '\n') return "↵";
  if (token == '\t') return "⇥";
  if (token < 32 || token > 126) return "·" + std::to_string(token);
  return std::string(1, static_cast<char>(token));
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/token_table.h"

#include <map>

#include "traces/core/whole_number.h"
#include "traces/query/capture_advice.h"
#include "traces/query/trace.h"
#include "viz/scene/groups.h"
#include "viz/scene/meant.h"

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

BufferLane laneOf(const Trace& trace, const std::string& name, int train_step, WorldRank rank) {
  BufferLane lane{name, false, {}, {}, 0, 0};
  if (const auto* shard = trace.findShard(name, train_step, rank)) {
    lane.sharded = shard->sharded;
    lane.full_shape = shard->full_shape;
    lane.local_shape = shard->local_shape;
  } else if (const auto* tensor =
                 trace.findTensor(traces::TensorName::of(name), {train_step}, rank)) {
    lane.local_shape = tensor->shape;
  }
  return lane;
}

void count(TokenTable& table) {
  for (BufferLane& lane : table.buffers)
    for (const TokenCell& cell : table.cells) {
      const bool positions = lane.name == "position_ids";
      const bool known = positions               ? cell.position && cell.should_position
                         : lane.name == "labels" ? cell.label && cell.should_label
                                                 : cell.token.has_value();
      lane.compared += known;
      lane.wrong += positions               ? cell.positionWrong()
                    : lane.name == "labels" ? cell.labelWrong()
                                            : false;
    }
}

}  // namespace

TokenTable makeTokenTable(const Trace& trace, const Cursor& cursor) {
  TokenTable table;
  const int train_step = cursor.place.train_step;
  const WorldRank rank = cursor.rank;
  const auto ranks = ranksOf(trace, cursor.group);
  table.rank = rank;
  table.train_step = train_step;
  if (const auto* run = trace.run(); run && run->model.vocab_size > 0)
    table.vocabulary = run->model.vocab_size;
  const auto* shard = trace.findShard("input_ids", train_step, rank);
  const auto tokens = bufferValues(trace, "input_ids", train_step, rank);
  if (!shard || !tokens) {
    table.missing = traces::captureAdvice(trace, "stats", "would show it");
    return table;
  }
  if (!shard->full_shape.empty()) table.sequence_length = shard->full_shape.back();
  const auto positions = bufferValues(trace, "position_ids", train_step, rank);
  const auto labels = bufferValues(trace, "labels", train_step, rank);
  const auto whole = wholeSequence(trace, train_step, ranks);
  const Meant meant(trace, train_step, ranks);
  for (const auto& run : shard->global_from_local)
    for (std::int64_t g = run.begin; g < run.end && table.cells.size() < tokens->size(); ++g) {
      const std::size_t i = table.cells.size();
      TokenCell cell;
      cell.global = TokenIndex::of(g);
      cell.should_position = meant.positionOf(cell.global);
      cell.begins_document = meant.documentBeginsAt(cell.global);
      cell.token = at(tokens, i);
      cell.position = at(positions, i);
      cell.label = at(labels, i);
      if (const auto next = whole.find(cell.global.next()); next != whole.end())
        cell.should_label = next->second;
      cell.begins_chunk = g == run.begin;
      table.cells.push_back(cell);
    }
  for (const char* name : {"input_ids", "labels", "position_ids"})
    table.buffers.push_back(laneOf(trace, name, train_step, rank));
  count(table);
  return table;
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

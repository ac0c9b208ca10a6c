// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/token_table.h"

#include <map>

#include "viz/scene/documents.h"

namespace ringscope::viz {
namespace {

using traces::Trace;

/// A rank's own values of a buffer; for position ids those that the model used, sharded or not.
std::optional<std::vector<double>> bufferValues(const Trace& trace, const std::string& buffer,
                                                int train_step, int rank) {
  const auto* tensor =
      trace.findTensor(buffer == "position_ids" ? buffer : "buffer." + buffer, {train_step}, rank);
  return tensor ? trace.values(*tensor) : std::nullopt;
}

/// The sequence's tokens by global index, put together from all ranks.
std::map<std::int64_t, std::int64_t> wholeSequence(const Trace& trace, int train_step) {
  std::map<std::int64_t, std::int64_t> tokens;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    const auto* shard = trace.findShard("input_ids", train_step, rank);
    const auto values = bufferValues(trace, "input_ids", train_step, rank);
    if (!shard || !values) continue;
    std::size_t local = 0;
    for (const auto& run : shard->global_from_local)
      for (std::int64_t g = run.begin; g < run.end && local < values->size(); ++g)
        tokens[g] = static_cast<std::int64_t>((*values)[local++]);
  }
  return tokens;
}

std::optional<std::int64_t> at(const std::optional<std::vector<double>>& values, std::size_t i) {
  if (!values || i >= values->size()) return std::nullopt;
  return static_cast<std::int64_t>((*values)[i]);
}

BufferLane laneOf(const Trace& trace, const std::string& name, int train_step, int rank) {
  BufferLane lane{name, false, {}, {}, 0, 0};
  if (const auto* shard = trace.findShard(name, train_step, rank)) {
    lane.sharded = shard->sharded;
    lane.full_shape = shard->full_shape;
    lane.local_shape = shard->local_shape;
  } else if (const auto* tensor = trace.findTensor(name, {train_step}, rank)) {
    lane.local_shape = tensor->shape;
  }
  return lane;
}

void count(TokenTable& table) {
  for (BufferLane& lane : table.buffers)
    for (const TokenCell& cell : table.cells) {
      const bool positions = lane.name == "position_ids";
      const bool known = positions               ? cell.position.has_value()
                         : lane.name == "labels" ? cell.label && cell.should_label
                                                 : cell.token.has_value();
      lane.compared += known;
      lane.wrong += positions               ? cell.positionWrong()
                    : lane.name == "labels" ? cell.labelWrong()
                                            : false;
    }
}

}  // namespace

TokenTable tokenTable(const Trace& trace, int train_step, int rank) {
  TokenTable table;
  table.rank = rank;
  const auto* shard = trace.findShard("input_ids", train_step, rank);
  const auto tokens = bufferValues(trace, "input_ids", train_step, rank);
  if (!shard || !tokens) {
    table.missing = "--capture stats";
    return table;
  }
  if (!shard->full_shape.empty()) table.sequence_length = shard->full_shape.back();
  const auto positions = bufferValues(trace, "position_ids", train_step, rank);
  const auto labels = bufferValues(trace, "labels", train_step, rank);
  const auto whole = wholeSequence(trace, train_step);
  const DocumentStarts documents(trace, train_step);
  for (const auto& run : shard->global_from_local)
    for (std::int64_t g = run.begin; g < run.end; ++g) {
      const std::size_t i = table.cells.size();
      TokenCell cell;
      cell.global = g;
      cell.should_position = documents.positionOf(g);
      cell.begins_document = documents.beginsAt(g);
      cell.token = at(tokens, i);
      cell.position = at(positions, i);
      cell.label = at(labels, i);
      if (const auto next = whole.find(g + 1); next != whole.end())
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

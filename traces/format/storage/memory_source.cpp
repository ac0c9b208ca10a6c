// SPDX-License-Identifier: Apache-2.0
#include "traces/format/storage/memory_source.h"

namespace ringscope::traces {

void MemorySource::number(Chunk& chunk) const {
  chunk.seq = chunks_.empty() ? 1 : chunks_.rbegin()->first + 1;
  chunk.checksum = computeChecksum(chunk);
}

void MemorySource::add(Chunk chunk) {
  if (chunk.kind == ChunkKind::kValues) values_at_[chunk.key] = chunk.seq;
  chunks_[chunk.seq] = std::move(chunk);
}

void MemorySource::addValues(TensorId tensor, Bytes values) {
  Chunk chunk;
  chunk.kind = ChunkKind::kValues;
  chunk.key = static_cast<std::uint64_t>(tensor.value());
  chunk.rows = 1;
  chunk.body = std::move(values);
  number(chunk);
  add(std::move(chunk));
}

void MemorySource::addValues(TensorId tensor, std::function<Bytes()> read) {
  addValues(tensor, Bytes());
  later_[chunks_.rbegin()->first] = std::move(read);
}

void MemorySource::list(const Take& take, const Problem& problem) {
  const auto noting = [&](auto call) {
    try {
      call();
    } catch (const Error& error) {
      problem(error.what());
    }
  };
  EventSummaries summaries;
  for (const auto& [seq, chunk] : chunks_)
    if (chunk.kind == ChunkKind::kSummaries)
      noting([&, seq = seq] { addSummary(summaries, read(seq)); });
  for (const auto& [seq, chunk] : chunks_) {
    ChunkInfo info{chunk, {}};
    attachSummary(info, summaries);
    noting([&, seq = seq] { take(info, [this, seq] { return read(seq); }); });
  }
}

Chunk MemorySource::read(std::uint64_t seq) {
  const auto found = chunks_.find(seq);
  if (found == chunks_.end())
    throw inputError("there is no chunk " + std::to_string(seq) + " in the recording");
  const auto later = later_.find(seq);
  if (later == later_.end()) {
    checkIntact(found->second);
    return found->second;
  }
  return readLater(found->second, later->second);
}

Chunk MemorySource::readLater(Chunk chunk, const std::function<Bytes()>& body) {
  {
    const MutexLock lock(mutex_);
    chunk.body = body();
  }
  chunk.checksum = computeChecksum(chunk);
  return chunk;
}

std::optional<Bytes> MemorySource::values(TensorId tensor) {
  const auto found = values_at_.find(static_cast<std::uint64_t>(tensor.value()));
  if (found == values_at_.end()) return std::nullopt;
  return read(found->second).body;
}

}  // namespace ringscope::traces

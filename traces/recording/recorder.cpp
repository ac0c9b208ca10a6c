// SPDX-License-Identifier: Apache-2.0
#include "traces/recording/recorder.h"

#include "traces/core/clock.h"

namespace ringscope::traces {

Recorder::Recorder(int world_size, std::vector<std::unique_ptr<ChunkSink>> sinks,
                   RecorderOptions options)
    : start_ns_(options.start_ns ? options.start_ns : steadyNow()),
      options_(options),
      sinks_(std::move(sinks)) {
  for (int r = 0; r < world_size; ++r)
    ranks_.push_back(std::make_unique<RankBuffers>(options.events_per_rank));
  writer_ = std::thread([this] { writerLoop(); });
}

Recorder::~Recorder() {
  close();
}

std::int64_t Recorder::now() const {
  return steadyNow() - start_ns_;
}

void Recorder::event(const Event& event) noexcept {
  if (!ranks_[static_cast<std::size_t>(event.rank)]->events.push(event)) ++dropped_events_;
}

void Recorder::memory(const MemorySample& sample) noexcept {
  // A lost sample is repaired by the next one of its category, so it is not counted as a drop.
  ranks_[static_cast<std::size_t>(sample.rank)]->memory.push(sample);
}

void Recorder::enqueue(Item item, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  item_bytes_ += bytes;
  items_.push_back(std::move(item));
}

void Recorder::tensor(TensorRecord record, Bytes values) {
  const std::size_t bytes = values.size();
  const std::lock_guard lock(mutex_);
  record.id = next_tensor_id_++;
  if (bytes > 0 && item_bytes_ + bytes > options_.queue_bytes) {
    values.clear();
    ++dropped_tensors_;
  }
  record.has_values = !values.empty();
  item_bytes_ += values.size();
  items_.push_back(TensorItem{std::move(record), std::move(values)});
}

void Recorder::shard(ShardRecord shard) {
  enqueue(std::move(shard), 0);
}
void Recorder::diffs(std::vector<DiffRecord> diffs) {
  enqueue(std::move(diffs), 0);
}
void Recorder::note(std::string key, std::string json) {
  enqueue(Note{std::move(key), std::move(json)}, 0);
}

Watermark Recorder::flush() {
  std::unique_lock lock(mutex_);
  if (closing_) return watermark_;
  const std::uint64_t ticket = ++flush_requested_;
  wake_writer_.notify_one();
  drained_.wait(lock, [&] { return flush_done_ >= ticket; });
  return watermark_;
}

void Recorder::close() {
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    closing_ = true;
    wake_writer_.notify_one();
  }
  writer_.join();
}

RecorderStats Recorder::stats() const {
  const std::lock_guard lock(mutex_);
  return {written_events_, dropped_events_, dropped_tensors_, failed_sinks_};
}

void Recorder::writerLoop() {
  for (;;) {
    std::uint64_t ticket = 0;
    bool closing = false;
    {
      std::unique_lock lock(mutex_);
      wake_writer_.wait_for(lock, options_.commit_interval,
                            [&] { return closing_ || flush_requested_ > flush_done_; });
      ticket = flush_requested_;
      closing = closing_;
    }
    drainOnce();
    if (closing) {
      const RecorderStats s = stats();
      writeChunk(ChunkKind::kEnd, -1, 0, 1,
                 encodeEnd({s.events, s.dropped_events, s.dropped_tensors, now()}));
      sinks_.close();
    } else {
      sinks_.flush();
    }
    {
      const std::lock_guard lock(mutex_);
      for (std::string& failure : sinks_.takeFailures())
        failed_sinks_.push_back(std::move(failure));
      flush_done_ = ticket;
      watermark_ = {next_seq_ - 1, now()};
      drained_.notify_all();
    }
    if (closing) return;
  }
}

void Recorder::drainOnce() {
  for (std::size_t r = 0; r < ranks_.size(); ++r) writeRank(r);
  std::vector<Item> items;
  {
    const std::lock_guard lock(mutex_);
    items.swap(items_);
    item_bytes_ = 0;
  }
  writeItems(std::move(items));
}

void Recorder::writeRank(std::size_t rank) {
  std::vector<Event> events;
  ranks_[rank]->events.drain(events);
  if (!events.empty()) {
    writeChunk(ChunkKind::kEvents, static_cast<int>(rank), 0, events.size(), encodeEvents(events));
    written_events_ += events.size();
  }
  std::vector<MemorySample> samples;
  ranks_[rank]->memory.drain(samples);
  if (!samples.empty())
    writeChunk(ChunkKind::kMemory, static_cast<int>(rank), 0, samples.size(),
               encodeMemory(samples));
}

void Recorder::writeItems(std::vector<Item> items) {
  std::vector<TensorRecord> records;
  for (auto& item : items) {
    if (auto* tensor = std::get_if<TensorItem>(&item)) {
      // Values first: whoever has the record finds its values too.
      if (tensor->record.has_values)
        writeChunk(ChunkKind::kValues, tensor->record.rank, tensor->record.id, 1,
                   std::move(tensor->values));
      records.push_back(std::move(tensor->record));
    } else if (auto* shard = std::get_if<ShardRecord>(&item)) {
      writeChunk(ChunkKind::kShards, shard->rank, 0, 1, encodeShard(*shard));
    } else if (auto* diffs = std::get_if<std::vector<DiffRecord>>(&item)) {
      writeChunk(ChunkKind::kDiffs, -1, 0, diffs->size(), encodeDiffs(*diffs));
    } else {
      writeChunk(ChunkKind::kNotes, -1, 0, 1, encodeNote(std::get<Note>(item)));
    }
  }
  if (!records.empty())
    writeChunk(ChunkKind::kTensors, -1, 0, records.size(), encodeTensors(records));
}

void Recorder::writeChunk(ChunkKind kind, int rank, std::uint64_t key, std::size_t rows,
                          Bytes body) {
  Chunk chunk;
  chunk.seq = next_seq_++;
  chunk.kind = kind;
  chunk.rank = static_cast<std::int16_t>(rank);
  chunk.key = key;
  chunk.rows = static_cast<std::uint32_t>(rows);
  chunk.body = std::move(body);
  chunk.checksum = computeChecksum(chunk);
  sinks_.write(chunk);
}

}  // namespace ringscope::traces

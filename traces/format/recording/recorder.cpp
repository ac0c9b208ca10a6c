// SPDX-License-Identifier: Apache-2.0
#include "traces/format/recording/recorder.h"

#include <algorithm>
#include <functional>

#include "traces/format/core/clock.h"
#include "traces/format/core/sentence_of.h"

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

bool Recorder::event(const Event& event) noexcept {
  const bool kept = ranks_[event.rank.index()]->events.push(event);
  if (!kept) ++dropped_events_;
  return kept;
}

void Recorder::memory(const MemorySample& sample) noexcept {
  // The next sample of its category repairs a lost sample, so it is not counted as a drop.
  ranks_[sample.rank.index()]->memory.push(sample);
}

void Recorder::enqueue(Chunk chunk) {
  const MutexLock lock(mutex_);
  items_.emplace_back(std::move(chunk));
}

void Recorder::tensor(TensorRecord record, Bytes values) {
  const std::size_t bytes = values.size();
  const MutexLock lock(mutex_);
  record.id = TensorId::of(next_tensor_id_++);
  if (bytes > 0 && item_bytes_ + bytes > options_.queue_bytes) {
    values.clear();
    ++dropped_tensors_;
  }
  record.has_values = !values.empty();
  item_bytes_ += values.size();
  items_.push_back(TensorItem{std::move(record), std::move(values)});
}

Watermark Recorder::flush() {
  MutexLock lock(mutex_);
  if (closing_) return watermark_;
  const std::uint64_t ticket = ++flush_requested_;
  wake_writer_.notifyOne();
  drained_.wait(lock, [&]() RINGSCOPE_REQUIRES(mutex_) { return flush_done_ >= ticket; });
  return watermark_;
}

void Recorder::close() {
  {
    const MutexLock lock(mutex_);
    if (closing_) return;
    closing_ = true;
    wake_writer_.notifyOne();
  }
  writer_.join();
}

RecorderStats Recorder::stats() const {
  const MutexLock lock(mutex_);
  return {written_events_, dropped_events_, dropped_tensors_, failed_sinks_};
}

void Recorder::writerLoop() {
  for (;;) {
    std::uint64_t ticket = 0;
    bool closing = false;
    {
      MutexLock lock(mutex_);
      wake_writer_.waitFor(lock, options_.commit_interval, [&]() RINGSCOPE_REQUIRES(mutex_) {
        return closing_ || flush_requested_ > flush_done_;
      });
      ticket = flush_requested_;
      closing = closing_;
    }
    writeOut(closing);
    {
      const MutexLock lock(mutex_);
      for (std::string& failure : sinks_.takeFailures())
        failed_sinks_.push_back(std::move(failure));
      flush_done_ = ticket;
      watermark_ = {next_seq_ - 1, now()};
      drained_.notifyAll();
    }
    if (closing) return;
  }
}

/// Writes the pending records and, on closing, the end record. If that throws, for example because
/// memory is refused, the sinks are given up and the run goes on.
void Recorder::writeOut(bool closing) {
  try {
    drainOnce();
    if (!closing) return sinks_.flush();
    const RecorderStats s = stats();
    writeChunk(
        makeChunk(EndRecord{s.events, s.dropped_events, s.dropped_tensors, now(), rows_by_kind_}));
    sinks_.close();
  } catch (const std::exception& error) {
    sinks_.giveUp(toSentence(error));
  }
}

namespace {

/// Removes the planned records (run, intent, groups and the like) from `items` and returns them.
/// They were recorded before the events that follow them.
template <typename Items>
std::vector<Chunk> takePlan(Items& items) {
  const auto is_plan = [](const auto& item) {
    const auto* chunk = std::get_if<Chunk>(&item);
    return chunk && (chunk->kind == ChunkKind::kRun || chunk->kind == ChunkKind::kIntent ||
                     chunk->kind == ChunkKind::kGroups || chunk->kind == ChunkKind::kSchedule);
  };
  const auto first = std::stable_partition(items.begin(), items.end(), std::not_fn(is_plan));
  std::vector<Chunk> plan;
  for (auto item = first; item != items.end(); ++item)
    plan.push_back(std::move(std::get<Chunk>(*item)));
  items.erase(first, items.end());
  return plan;
}

}  // namespace

/// Takes the items first and writes them last. A record that refers to an event, such as its times,
/// was recorded after it, so it is also written after it. Planned records are written before the
/// events.
void Recorder::drainOnce() {
  std::vector<Item> items;
  {
    const MutexLock lock(mutex_);
    items.swap(items_);
    item_bytes_ = 0;
  }
  for (Chunk& chunk : takePlan(items)) writeChunk(std::move(chunk));
  for (std::size_t r = 0; r < ranks_.size(); ++r) writeRank(r);
  writeItems(std::move(items));
}

namespace {

template <typename Record>
Chunk ofRank(std::size_t rank, const std::vector<Record>& records) {
  Chunk chunk = makeChunk(std::span<const Record>(records));
  chunk.rank = WorldRank::of(rank);
  return chunk;
}

}  // namespace

void Recorder::writeRank(std::size_t rank) {
  std::vector<Event> events;
  ranks_[rank]->events.drain(events);
  if (!events.empty()) {
    std::vector<Chunk> plan;
    {
      const MutexLock lock(mutex_);
      plan = takePlan(items_);
    }
    for (Chunk& chunk : plan) writeChunk(std::move(chunk));
    writeChunk(ofRank(rank, events));
    written_events_ += events.size();
  }
  std::vector<MemorySample> samples;
  ranks_[rank]->memory.drain(samples);
  if (!samples.empty()) writeChunk(ofRank(rank, samples));
}

void Recorder::writeItems(std::vector<Item> items) {
  // When a full disk cuts the file off, most values that fitted should have their records.
  constexpr std::size_t kBytesBeforeRecords = std::size_t{256} << 10;
  std::vector<TensorRecord> records;
  std::size_t bytes = 0;
  const auto write_records = [&] {
    if (!records.empty()) writeChunk(makeChunk(std::span<const TensorRecord>(records)));
    records.clear();
    bytes = 0;
  };
  for (auto& item : items) {
    if (auto* tensor = std::get_if<TensorItem>(&item)) {
      bytes += tensor->values.size();
      // Values come first: a reader that has the record then finds its values.
      if (tensor->record.has_values) writeValues(tensor->record, std::move(tensor->values));
      records.push_back(std::move(tensor->record));
      if (bytes > kBytesBeforeRecords) write_records();
    } else {
      writeChunk(std::move(std::get<Chunk>(item)));
    }
  }
  write_records();
}

void Recorder::writeValues(const TensorRecord& record, Bytes values) {
  Chunk chunk;
  chunk.kind = ChunkKind::kValues;
  chunk.rank = record.rank;
  chunk.key = static_cast<std::uint64_t>(record.id.value());
  chunk.rows = 1;
  chunk.body = std::move(values);
  writeChunk(std::move(chunk));
}

void Recorder::writeChunk(Chunk chunk) {
  rows_by_kind_[static_cast<std::size_t>(chunk.kind)] += chunk.rows;
  chunk.seq = next_seq_++;
  chunk.checksum = computeChecksum(chunk);
  sinks_.write(chunk);
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::test {

/// A trace in memory that is built record by record, with any claims that an untrusted file may
/// contain.
class AnyRecords {
 public:
  traces::Trace& trace() { return trace_; }

  void event(const traces::Event& event) { trace_.add(std::span<const traces::Event>(&event, 1)); }
  /// Adds a rank's attention of queries [q_begin, q_end) to keys [k_begin, k_end) of `source`.
  void attend(traces::WorldRank rank, traces::WorldRank source, traces::Place place,
              std::int32_t q_begin, std::int32_t q_end, std::int32_t k_begin, std::int32_t k_end) {
    traces::Event e;
    e.rank = rank;
    e.source_rank = source;
    e.place = place;
    e.q_begin = q_begin, e.q_end = q_end, e.k_begin = k_begin, e.k_end = k_end;
    event(e);
  }
  void tensor(const std::string& name, traces::Place place, traces::WorldRank rank,
              std::vector<std::int64_t> shape, const std::vector<float>& values,
              traces::WorldRank source = {}) {
    traces::TensorRecord record;
    record.id = traces::TensorId::of(next_id_++);
    record.tensor = traces::TensorName::of(name);
    record.place = place;
    record.rank = rank;
    record.source_rank = source;
    record.shape = std::move(shape);
    record.has_values = true;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
    trace_.addValues(record.id, traces::Bytes(bytes, bytes + values.size() * sizeof(float)));
    trace_.add(std::vector<traces::TensorRecord>{std::move(record)});
  }
  void shard(const std::string& buffer, traces::WorldRank rank,
             std::vector<traces::TokenRun> runs) {
    traces::ShardRecord record;
    record.buffer = buffer;
    record.rank = rank;
    record.global_from_local = std::move(runs);
    trace_.add(std::move(record));
  }
  void note(const std::string& key, const std::string& json) {
    trace_.add(traces::Note{key, json});
  }

 private:
  traces::Trace trace_;
  int next_id_ = 1;
};

}  // namespace ringscope::test

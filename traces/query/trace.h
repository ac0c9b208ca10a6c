// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "traces/schema/chunk.h"

namespace ringscope::traces {

/// The read model that every view, rule and command works on, live or recorded. It grows by add()
/// and belongs to one thread; spans and references into it are valid until the next add().
class Trace {
 public:
  using LoadValues = std::function<std::optional<Bytes>(std::uint64_t tensor_id)>;

  /// `load_values` fetches values that were not kept in memory; may be empty.
  explicit Trace(LoadValues load_values = {});

  /// Takes one chunk in. Throws inputError when it is malformed; the trace is then unchanged.
  void add(const Chunk& chunk);
  /// Notes something that could not be read, for whoever shows this trace.
  void addProblem(std::string sentence) { problems_.push_back(std::move(sentence)); }

  int worldSize() const { return static_cast<int>(events_.size()); }
  /// Events of one rank in the order of their ends, as they were recorded.
  const std::vector<Event>& events(int rank) const {
    return events_.at(static_cast<std::size_t>(rank));
  }
  std::size_t eventCount() const;
  const std::vector<TensorRecord>& tensors() const { return tensors_; }
  const std::vector<ShardRecord>& shards() const { return shards_; }
  const std::vector<MemorySample>& memory(int rank) const {
    return memory_.at(static_cast<std::size_t>(rank));
  }
  const std::vector<DiffRecord>& diffs() const { return diffs_; }
  const std::vector<std::string>& problems() const { return problems_; }
  const std::optional<EndRecord>& end() const { return end_; }
  /// The last note of this key, or null.
  const nlohmann::json& note(const std::string& key) const;
  /// The run's configuration as recorded; an empty object when it is not.
  const nlohmann::json& run() const;

  const TensorRecord* findTensor(const std::string& name, const Place& place, int rank) const;
  const ShardRecord* findShard(const std::string& buffer, int train_step, int rank) const;
  /// Values as doubles in row-major order; nullopt when the capture did not keep them.
  std::optional<std::vector<double>> values(const TensorRecord& tensor) const;

  /// Every (training step, layer, direction, ring step) with events, in the order of visiting.
  const std::vector<Place>& moments() const { return moments_; }
  /// Largest end of any event.
  std::int64_t endNs() const { return end_ns_; }

 private:
  void addEvents(const Chunk& chunk);
  void addMoment(const Place& place);
  std::size_t checkedRank(int rank);

  LoadValues load_values_;
  std::vector<std::vector<Event>> events_;
  std::vector<std::vector<MemorySample>> memory_;
  std::vector<TensorRecord> tensors_;
  struct PlaceAndRankBefore {
    bool operator()(const std::pair<Place, int>& a, const std::pair<Place, int>& b) const;
  };
  std::map<std::string, std::map<std::pair<Place, int>, std::size_t, PlaceAndRankBefore>>
      tensor_index_;
  std::vector<ShardRecord> shards_;
  std::map<std::tuple<std::string, int, int>, std::size_t> shard_index_;
  std::vector<DiffRecord> diffs_;
  std::vector<std::pair<std::string, nlohmann::json>> notes_;
  std::map<std::uint64_t, Bytes> kept_values_;
  std::vector<std::string> problems_;
  std::vector<Place> moments_;
  std::optional<EndRecord> end_;
  std::int64_t end_ns_ = 0;
};

/// Opens a .rscope file. Throws inputError when it cannot be opened at all; what is damaged inside
/// is left out and listed in problems().
std::shared_ptr<Trace> openTrace(const std::string& path);

/// Converts recorded elements to doubles. Throws inputError when the sizes do not agree.
std::vector<double> decodeValues(const TensorRecord& tensor, const Bytes& bytes);

}  // namespace ringscope::traces

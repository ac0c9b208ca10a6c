// SPDX-License-Identifier: Apache-2.0
#include "traces/sql/table.h"

namespace ringscope::traces {
namespace {

const std::vector<Column>& columns() {
  static const auto kColumns =
      columnsOf<MemorySample>({{"time_ns", "from when on, since the run began"},
                               {"bytes", "that the rank holds in the category from then on"},
                               {"rank", "who holds them"},
                               {"category", "what they are used for"}});
  return kColumns;
}

/// Rank by rank, in the order of recording.
class MemoryRows : public TableRows {
 public:
  MemoryRows(const QueriedTrace& traced, Range ranks) : trace_(traced.trace()), ranks_(ranks) {}
  bool next() override {
    ++at_;
    while (at_ > samples().size()) {
      if (++rank_ >= trace_.worldSize()) return false;
      at_ = ranks_.holds(rank_) ? 1 : samples().size() + 1;
    }
    return true;
  }
  Cell cell(std::size_t column) const override { return columns()[column].of(&samples()[at_ - 1]); }

 private:
  const std::vector<MemorySample>& samples() const { return trace_.memory(WorldRank::of(rank_)); }
  const Trace& trace_;
  Range ranks_;
  std::int32_t rank_ = -1;
  std::size_t at_ = 0;
};

std::unique_ptr<TableRows> open(const QueriedTrace& traced,
                                std::span<const QueryCondition> conditions) {
  constexpr std::size_t kRank = 2;
  return std::make_unique<MemoryRows>(traced, rangeOf(conditions, kRank));
}

}  // namespace

const Table kMemoryTable = {"memory", "what a rank holds in one category from a time on", columns,
                            open};

}  // namespace ringscope::traces

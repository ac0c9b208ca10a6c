// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/tables/table.h"
#include "traces/format/trace/peak_memory.h"

namespace ringscope::traces {
namespace {

/// A sample, and the bytes that the rank holds from then on.
struct MemoryRow {
  MemorySample sample;
  std::int64_t step_bytes = 0;
};

}  // namespace

template <>
struct Fields<MemoryRow> {
  static void visit(auto&& field, auto& r) {
    Fields<MemorySample>::visit(field, r.sample);
    field("step_bytes", r.step_bytes);
  }
};

namespace {

const std::vector<Column>& memoryColumns() {
  static const auto kColumns =
      columnsFor<MemoryRow>({{"time_ns", "from when on, since the run began"},
                             {"bytes", "that the rank holds in the category from then on"},
                             {"rank", "who holds them"},
                             {"category", "what they are used for"},
                             {"step_bytes",
                              "that the rank holds in all categories except verify from then "
                              "on; the largest is its peak memory"}});
  return kColumns;
}

/// The rows of memory samples: rank by rank, in the order of recording.
class MemoryRows : public TableRows {
 public:
  MemoryRows(const QueriedTrace& traced, Range ranks) : trace_(traced.trace()), ranks_(ranks) {}
  bool next() override {
    ++at_;
    while (at_ > samples().size()) {
      if (++rank_ >= trace_.worldSize()) return false;
      at_ = ranks_.holds(rank_) ? 1 : samples().size() + 1;
      held_ = HeldMemory();
      taken_ = 0;
    }
    takeInstant();
    row_ = {samples()[at_ - 1], held_.total()};
    return true;
  }
  Cell cell(std::size_t column) const override { return memoryColumns()[column].of(&row_); }

 private:
  const std::vector<MemorySample>& samples() const { return trace_.memory(WorldRank::of(rank_)); }
  /// Adds all samples with the time of the current row, which count together.
  void takeInstant() {
    if (at_ <= taken_) return;
    do held_.take(samples()[taken_]);
    while (!endsInstant(samples(), taken_++));
  }

  const Trace& trace_;
  Range ranks_;
  HeldMemory held_;
  std::size_t taken_ = 0;  // number of the rank's samples that were added
  MemoryRow row_;
  std::int32_t rank_ = -1;
  std::size_t at_ = 0;
};

std::unique_ptr<TableRows> openMemory(const QueriedTrace& traced,
                                      std::span<const QueryCondition> conditions) {
  constexpr std::size_t kRank = 2;
  return std::make_unique<MemoryRows>(traced, rangeFor(conditions, kRank));
}

}  // namespace

const Table kMemoryTable = {"memory", "what a rank holds in one category from a time on",
                            memoryColumns, openMemory};

}  // namespace ringscope::traces

// SPDX-License-Identifier: Apache-2.0
// The rotary table: whether cos and sin are those of the positions of a rank.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/rounding/roundoff.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {

// missing_rope_buffer: a row of cos and sin belongs to one position on all ranks. The angles grow
// by the same step from each position to the next, whatever the angles are.
namespace {

/// The fastest angles are among the first columns, however a table is arranged.
constexpr std::size_t kColumns = 4;

/// The angles of a position, and the first rank that had them.
struct Angles {
  std::array<double, kColumns> angles{};
  WorldRank rank;
};

struct Table {
  std::map<std::int64_t, Angles> rows;  ///< by position
  std::size_t columns = kColumns;
  double rounding = 0;  ///< of one angle
  std::int64_t largest = 0;
};

struct Contradiction {
  bool found = false;
  WorldRank rank;
  std::int64_t position = 0, other = 0;
  double by = 0;
};

/// Returns the angle between −π and π.
double turned(double angle) {
  return std::remainder(angle, 2 * std::numbers::pi);
}

double tolerance(const Table& table) {
  // An angle is a product with the position, which is rounded too.
  return 16 * table.rounding + 8 * 0x1p-24 * static_cast<double>(table.largest);
}

double unlike(const Table& table, const std::array<double, kColumns>& a,
              const std::array<double, kColumns>& b) {
  double most = 0;
  for (std::size_t c = 0; c < table.columns; ++c)
    most = std::max(most, std::abs(turned(a[c] - b[c])));
  return most;
}

/// Reports whether position ids are those of a table's rows, also if they repeat for several batch
/// entries. Positions of three axes, which a table mixes, do not.
bool areOfRows(const std::vector<double>& ids, std::size_t rows) {
  for (std::size_t i = rows; i < ids.size(); ++i)
    if (ids[i] != ids[i % rows]) return false;
  return ids.size() % rows == 0;
}

/// Adds one rank's rows to the table. A position that the table has must have the same angles.
void takeRows(Table& table, const TensorRecord& positions, const std::vector<double>& ids,
              const std::vector<double>& cos, const std::vector<double>& sin,
              Contradiction& wrong) {
  if (cos.size() != sin.size() || cos.empty() || ids.empty()) return;
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(1, positions.shape.back()));
  if (cos.size() % width != 0 || !areOfRows(ids, cos.size() / width)) return;
  table.columns = std::min(kColumns, width);
  for (std::size_t i = 0; i < cos.size() / width; ++i) {
    if (!(std::abs(ids[i]) < 1e15)) return;
    const auto position = static_cast<std::int64_t>(ids[i]);
    Angles row{{}, positions.rank};
    for (std::size_t c = 0; c < table.columns; ++c)
      row.angles[c] = std::atan2(sin[i * width + c], cos[i * width + c]);
    table.largest = std::max(table.largest, std::abs(position));
    const auto [known, added] = table.rows.try_emplace(position, row);
    const double by = added ? 0 : unlike(table, row.angles, known->second.angles);
    if (by > tolerance(table) && !wrong.found)
      wrong = {true, positions.rank, position, position, by};
  }
}

/// Compares the steps from each position to the next with the first step.
void compareGrowth(const Table& table, Contradiction& wrong, bool& compared) {
  std::optional<std::array<double, kColumns>> growth;
  for (auto row = table.rows.begin(); row != table.rows.end(); ++row) {
    const auto next = std::next(row);
    if (next == table.rows.end() || next->first != row->first + 1) continue;
    std::array<double, kColumns> step{};
    for (std::size_t c = 0; c < table.columns; ++c)
      step[c] = next->second.angles[c] - row->second.angles[c];
    if (!growth) {
      growth = step;
      continue;
    }
    compared = true;
    const double by = unlike(table, step, *growth);
    if (by <= 2 * tolerance(table) || wrong.found) continue;
    wrong = {true, next->second.rank, next->first, row->first, by};
  }
}

Finding missingRopeBufferFinding(const Place& place, WorldRank rank, std::string evidence) {
  return {.title = "cos and sin are not those of the rank's positions",
          .place = place,
          .rank = rank,
          .buffer = "cos",
          .evidence = std::move(evidence),
          .remedy =
              "Put the rotary table among the buffers (buffers=[input_ids, labels, freqs_cis], "
              "buffer_seq_dims=[1, 1, 0]), or look it up by position ids that are sharded with the "
              "tokens."};
}

/// Returns the table that the same rank has for these positions in the same microbatch, or null.
const TensorRecord* tensorBeside(const Trace& trace, TensorKind kind,
                                 const TensorRecord& positions) {
  for (const TensorRecord* table : trace.tensorsAt({kind}, positions.place, positions.rank))
    if (table->microbatch == positions.microbatch) return table;
  return nullptr;
}

/// Finds two ranks that have different positions and the same table, by hashes alone.
std::optional<Finding> sameTable(const Trace& trace, const std::vector<const TensorRecord*>& all) {
  for (const TensorKind kind : {TensorKind::kCos, TensorKind::kSin}) {
    std::map<std::uint64_t, const TensorRecord*> first;  // by the table's hash
    for (const TensorRecord* positions : all) {
      const TensorRecord* table = tensorBeside(trace, kind, *positions);
      if (!table || table->stats.min == table->stats.max) continue;
      const auto [known, added] = first.try_emplace(table->hash, positions);
      const TensorRecord& other = *known->second;
      if (added || other.hash == positions->hash || other.shape != positions->shape ||
          other.dtype != positions->dtype)
        continue;
      return missingRopeBufferFinding(
          positions->place, positions->rank,
          std::string("Ranks ") + toString(other.rank) + " and " + toString(positions->rank) +
              " have the same " + name(kind) +
              " for different position ids: each took the first rows of the table.");
    }
  }
  return std::nullopt;
}

}  // namespace

RuleResult checkMissingRopeBuffer(const Trace& trace) {
  std::map<std::int32_t, std::vector<const TensorRecord*>> by_step;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor.kind == TensorKind::kPositionIds)
      by_step[tensor.place.train_step].push_back(&tensor);
  bool compared = false;
  for (auto& [train_step, all] : by_step) {
    std::ranges::sort(all, {}, [](const TensorRecord* tensor) { return tensor->rank; });
    if (auto same = sameTable(trace, all)) return found(std::move(*same));
    Table table;
    Contradiction wrong;
    for (const TensorRecord* positions : all) {
      const TensorRecord *cos = tensorBeside(trace, TensorKind::kCos, *positions),
                         *sin = tensorBeside(trace, TensorKind::kSin, *positions);
      if (!cos || !sin || cos->shape.empty()) continue;
      const auto ids = trace.values(*positions), cos_values = trace.values(*cos),
                 sin_values = trace.values(*sin);
      if (!ids || !cos_values || !sin_values) continue;
      table.rounding = std::max(table.rounding, unitRoundoff(cos->dtype));
      takeRows(table, *cos, *ids, *cos_values, *sin_values, wrong);
      compared = compared || wrong.found || !table.rows.empty();
    }
    if (tolerance(table) > 0.25) return undecided("needs angles of a more precise type");
    compareGrowth(table, wrong, compared);
    if (wrong.found)
      return found(missingRopeBufferFinding(
          {train_step}, wrong.rank,
          "Position " + std::to_string(wrong.position) +
              (wrong.other == wrong.position
                   ? " has two different rows of cos and sin"
                   : " does not follow position " + std::to_string(wrong.other) +
                         " by the angles by which others follow theirs") +
              ", off by " + describeSignificant(wrong.by, 2) + " radians."));
  }
  return compared ? clear() : notObservable("needs the values of position_ids, cos and sin");
}

}  // namespace ringscope::traces

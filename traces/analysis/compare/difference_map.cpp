// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/compare/difference_map.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "traces/analysis/compare/logical_tensor.h"
#include "traces/analysis/compare/row_tally.h"
#include "traces/analysis/compare/run_layers.h"
#include "traces/format/trace/capture_advice.h"

namespace ringscope::traces {
namespace {

using Head = LogicalTensor::Head;

/// The rows of a tensor in one run, and why rows are missing.
struct RecordedRows {
  LogicalTensor rows;
  std::vector<std::string> missing;
};

bool isInput(const std::string& tensor) {
  return tensor == "buffer.input_ids" || tensor == "buffer.labels" || tensor == "position_ids" ||
         tensor == "buffer.position_ids";
}

/// Reports whether an input has a distance. Token ids and labels have none.
bool areNumbers(const std::string& input) {
  return input.ends_with("position_ids");
}

std::optional<TensorKind> attentionKind(const std::string& tensor) {
  for (const TensorKind kind :
       {TensorKind::kQ, TensorKind::kK, TensorKind::kV, TensorKind::kOut, TensorKind::kLse,
        TensorKind::kDout, TensorKind::kDq, TensorKind::kDk, TensorKind::kDv})
    if (tensor == name(kind)) return kind;
  return std::nullopt;
}

Direction directionOf(TensorKind kind) {
  const bool backward = kind == TensorKind::kDout || kind == TensorKind::kDq ||
                        kind == TensorKind::kDk || kind == TensorKind::kDv;
  return backward ? Direction::kBackward : Direction::kForward;
}

RecordedRows inputOf(const Trace& trace, std::int32_t train_step, const std::string& tensor) {
  InputRows rows;
  for (const TensorRecord& part : trace.tensors())
    if (part.has_values && part.microbatch == 0 && part.place.train_step == train_step &&
        part.tensor.text() == tensor)
      addInputPart(trace, part, rows);
  RecordedRows side{LogicalTensor::of(rows), {}};
  if (rows.empty())
    side.missing.push_back("no values of " + tensor + " in training step " +
                           std::to_string(train_step) + " are recorded; " +
                           captureAdvice(trace, "full", "keeps them"));
  return side;
}

/// Reports whether a sentence about missing values concerns this tensor: "out of rank 1 …", but not
/// "dout of …".
bool isAbout(const std::string& sentence, TensorKind kind) {
  const std::string words = std::string(name(kind)) + " of ";
  const std::size_t at = sentence.find(words);
  return at == 0 || (at != std::string::npos && sentence[at - 1] == ' ');
}

RecordedRows gatherAttention(const Trace& trace, const Place& place, TensorKind kind) {
  const RunLayers run{trace};
  const auto layers = run.at({place.train_step, place.layer, 0});
  RecordedRows side;
  if (const std::string why = RunLayers::hindrance(layers); !why.empty()) {
    side.missing.push_back(why);
    return side;
  }
  side.rows = LogicalTensor::of(trace, layers, run.groups, kind);
  for (const LayerTensors& layer : layers)
    for (const std::string& sentence : layer.missing)
      if (isAbout(sentence, kind)) side.missing.push_back(sentence);
  if (side.rows.empty() && side.missing.empty())
    side.missing.push_back(std::string(name(kind)) + " cannot be put together; " +
                           valuesAdvice(trace, place.train_step, "keeps its values"));
  return side;
}

RowDifference differenceOf(std::span<const double> a, std::span<const double> b) {
  RowDifference row;
  double most = -1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double here = distance(a[i], b[i]);
    row.difference = std::hypot(row.difference, here);
    if (here <= most) continue;
    most = here;
    row.a = a[i];
    row.b = b[i];
    row.element = static_cast<std::int32_t>(i);
  }
  return row;
}

/// The alignment of the rows of both runs by token.
class Mapper {
 public:
  Mapper(const LogicalTensor& a, const LogicalTensor& b, DifferenceMap& map)
      : a_(a), b_(b), map_(map), width_(static_cast<std::size_t>(a.width())) {}

  void addTokens() {
    std::set<TokenIndex> tokens;
    for (const LogicalTensor* tensor : {&a_, &b_})
      for (const auto& [place, head] : tensor->heads())
        tokens.insert(head.tokens.begin(), head.tokens.end());
    map_.tokens.assign(tokens.begin(), tokens.end());
  }
  void addLines(bool have_heads) {
    std::set<std::pair<std::int64_t, std::int64_t>> places;
    for (const LogicalTensor* tensor : {&a_, &b_})
      for (const auto& [place, head] : tensor->heads()) places.insert(place);
    for (const auto& [sequence, head] : places) {
      map_.lines.push_back({sequence, have_heads ? std::optional(head) : std::nullopt});
      addRows({sequence, head});
    }
  }
  double size() const {
    return compared_ > 0 ? std::sqrt(squares_ / static_cast<double>(compared_)) : 0;
  }

 private:
  /// Returns the index of each token's row; nullopt when the tensor has none.
  std::vector<std::optional<std::size_t>> whereIn(const LogicalTensor& tensor,
                                                  std::pair<std::int64_t, std::int64_t> at) const {
    std::vector<std::optional<std::size_t>> where(map_.tokens.size());
    const auto found = tensor.heads().find(at);
    if (found == tensor.heads().end()) return where;
    const Head& head = found->second;
    for (std::size_t i = 0; i < head.tokens.size(); ++i)
      if (head.ranks[i].exists())
        where[static_cast<std::size_t>(std::ranges::lower_bound(map_.tokens, head.tokens[i]) -
                                       map_.tokens.begin())] = i;
    return where;
  }
  void addRows(std::pair<std::int64_t, std::int64_t> at) {
    const auto ours = whereIn(a_, at), theirs = whereIn(b_, at);
    for (std::size_t token = 0; token < map_.tokens.size(); ++token) {
      const Head* a = ours[token] ? &a_.heads().at(at) : nullptr;
      const Head* b = theirs[token] ? &b_.heads().at(at) : nullptr;
      RowDifference row;
      if (a && b) row = compared(*a, *ours[token], *b, *theirs[token]);
      row.rank = a ? a->ranks[*ours[token]] : WorldRank::none();
      row.other = b ? b->ranks[*theirs[token]] : WorldRank::none();
      map_.rows.push_back(row);
    }
  }
  RowDifference compared(const Head& a, std::size_t i, const Head& b, std::size_t j) {
    const auto other = std::span(b.values).subspan(j * width_, width_);
    ++compared_;
    for (const double value : other)
      if (std::isfinite(value)) squares_ += value * value;
    return differenceOf(std::span(a.values).subspan(i * width_, width_), other);
  }

  const LogicalTensor &a_, &b_;
  DifferenceMap& map_;
  std::size_t width_;
  std::int64_t compared_ = 0;
  double squares_ = 0;  // sum over the second run's values
};

}  // namespace

bool hasRowsByToken(const std::string& tensor) {
  return isInput(tensor) || attentionKind(tensor);
}

Place placeOfRows(const Place& place, const std::string& tensor) {
  const auto kind = attentionKind(tensor);
  if (!kind) return {place.train_step};
  return {place.train_step, place.layer, directionOf(*kind), RingStep::none()};
}

DifferenceMap differenceMap(const Trace& run, const Trace& other, const Place& place,
                            const std::string& tensor) {
  DifferenceMap map;
  const auto kind = attentionKind(tensor);
  map.place = placeOfRows(place, tensor);
  map.tensor = tensor;
  if (!hasRowsByToken(tensor)) return map;
  const auto side_of = [&](const Trace& trace) {
    return kind ? gatherAttention(trace, map.place, *kind)
                : inputOf(trace, place.train_step, tensor);
  };
  const RecordedRows a = side_of(run), b = side_of(other);
  map.missing = a.missing;
  map.other_missing = b.missing;
  if (a.rows.empty() || b.rows.empty()) return map;
  map.width = a.rows.width();
  if (map.width != b.rows.width()) {
    map.other_missing.push_back("its rows have " + std::to_string(b.rows.width()) +
                                " numbers, and those of the first " + std::to_string(map.width));
    return map;
  }
  Mapper mapper(a.rows, b.rows, map);
  mapper.addTokens();
  mapper.addLines(kind.has_value());
  if (kind) map.size = mapper.size();
  if (!kind && !areNumbers(tensor))
    for (RowDifference& row : map.rows) row.difference = row.difference > 0 ? 1 : 0;
  return map;
}

}  // namespace ringscope::traces

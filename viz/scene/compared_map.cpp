// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/compared_map.h"

#include <algorithm>
#include <cmath>

#include "traces/format/core/prose.h"

namespace ringscope::viz {
namespace {

using traces::describeCount;
using traces::DifferenceMap;
using traces::RowDifference;

constexpr double kMostDecades = 8;

std::string nameFor(const std::string& tensor) {
  return tensor.starts_with("buffer.") ? tensor.substr(7) : tensor;
}

bool isOfAttention(const MapSubject& subject) {
  return subject.place.layer.exists();
}

std::string titleFor(const MapSubject& subject) {
  std::string title = "|A − B| OF " + nameFor(subject.tensor);
  if (!isOfAttention(subject)) return title + ", BY SEQUENCE AND TOKEN";
  const bool backward = subject.place.direction == traces::Direction::kBackward;
  return title + ", LAYER " + toString(subject.place.layer) +
         (backward ? " · BACKWARD" : " · FORWARD") + ", BY HEAD AND TOKEN";
}

std::string unitOf(const MapSubject& subject) {
  if (isOfAttention(subject)) return "of its size";
  return subject.tensor.ends_with("position_ids") ? "positions" : "";
}

/// "A: out of rank 1 is not recorded; …": sentences.
void addLacks(const std::string& letter, const std::vector<std::string>& missing,
              std::vector<std::string>& lacks) {
  for (const std::string& sentence : missing)
    lacks.emplace_back(letter).append(": ").append(sentence).append(sentence.ends_with(")") ? ""
                                                                                            : ".");
}

std::vector<std::string> linesOf(const DifferenceMap& map) {
  const bool many = std::ranges::any_of(
      map.lines, [&](const auto& line) { return line.sequence != map.lines.front().sequence; });
  std::vector<std::string> lines;
  for (const DifferenceMap::Line& line : map.lines) {
    std::string words;
    if (many || !line.head) words = "seq " + std::to_string(line.sequence);
    if (line.head) words += (words.empty() ? "" : ", ") + ("head " + std::to_string(*line.head));
    lines.push_back(std::move(words));
  }
  return lines;
}

/// The powers of ten about all finite differences.
void setScale(ComparedMap& map) {
  double least = 0, most = 0;
  for (const RowDifference& row : map.map->rows) {
    map.has_lacking = map.has_lacking || !row.compared();
    const double share = row.compared() ? map.map->share(row) : 0;
    map.has_infinite = map.has_infinite || std::isinf(share);
    if (share <= 0 || std::isinf(share)) continue;
    most = std::max(most, share);
    least = least == 0 ? share : std::min(least, share);
  }
  if (most == 0) return;
  const double high = std::ceil(std::log10(most));
  const double low = std::max(std::floor(std::log10(least)), high - kMostDecades);
  map.high = std::pow(10, high);
  map.low = std::pow(10, std::min(low, high - 1));
}

/// Worse than another: what was compared is worse than what was not.
bool isWorse(const RowDifference& a, const RowDifference& b) {
  if (a.compared() != b.compared()) return a.compared();
  return a.compared() && a.difference > b.difference;
}

std::size_t worstOf(const std::vector<RowDifference>& rows) {
  std::size_t worst = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (isWorse(rows[i], rows[worst])) worst = i;
  return worst;
}

bool differs(const RowDifference& row) {
  return row.compared() && row.difference > 0;
}

std::string largestOf(const ComparedMap& map) {
  const auto& rows = map.map->rows;
  const auto compared = std::ranges::count_if(rows, &RowDifference::compared);
  const auto differing = std::ranges::count_if(rows, differs);
  const std::size_t worst = worstOf(rows);
  if (compared == 0) return "No row is recorded in both.";
  if (differing == 0)
    return "✓ " + traces::describeAll(compared, "row") + (compared == 1 ? " is" : " are") +
           " equal.";
  return describeCount(differing) + " of " + describeCount(compared, "row") +
         (differing == 1 ? " differs" : " differ") + ". Largest: " + describeRow(map, worst) + ".";
}

std::string number(double value) {
  constexpr int kDigits = 4;
  return traces::describeSignificant(value, kDigits);
}

std::string owners(const RowDifference& row) {
  return "rank " + toString(row.rank) + " in A, rank " + toString(row.other) + " in B";
}

std::string sizeWords(const ComparedMap& map, const RowDifference& row) {
  if (map.unit.empty()) return "differs";
  const double share = map.map->share(row);
  if (std::isinf(row.difference)) return "is finite in one alone";
  return "differs by " + traces::describeSignificant(share, 2) + " " +
         (share == 1 && map.unit == "positions" ? "position" : map.unit);
}

std::size_t begin(std::size_t at, std::size_t of, std::size_t all) {
  return at * all / of;
}

}  // namespace

MapSubject mapSubject(const Place& place, const std::string& tensor) {
  return {traces::placeOfRows(place, tensor), tensor};
}

std::optional<double> ComparedMap::level(const RowDifference& row) const {
  if (!row.compared()) return std::nullopt;
  const double share = map->share(row);
  if (share == 0 || std::isinf(share)) return share;
  constexpr double kLeast = 0.02;  // what differs is never taken for what does not
  return std::clamp(std::log10(share / low) / std::log10(high / low), kLeast, 1.0);
}

ComparedMap makeComparedMap(const MapSubject& subject, std::shared_ptr<const DifferenceMap> map,
                            const std::string& problem, const traces::RunComparison& comparison) {
  ComparedMap scene;
  scene.subject = subject;
  scene.title = titleFor(subject);
  scene.unit = unitOf(subject);
  if (!traces::hasRowsByToken(subject.tensor)) {
    scene.title = "|A − B| BY TOKEN";
    scene.note = nameFor(subject.tensor) +
                 " is compared as a whole. Token ids, labels, position_ids, and attention's q, k, "
                 "v, out, lse, dout, dq, dk and dv have rows by token.";
    return scene;
  }
  if (!map) {
    scene.reading = problem.empty();
    scene.note =
        scene.reading ? "Reading " + nameFor(subject.tensor) + " of both …" : "▲ " + problem;
    return scene;
  }
  addLacks("A", map->missing, scene.lacks);
  addLacks("B", map->other_missing, scene.lacks);
  scene.map = std::move(map);
  if (scene.empty()) {
    for (const std::string& sentence : scene.lacks)
      scene.note += (scene.note.empty() ? "" : "\n") + sentence;
    scene.lacks.clear();
    return scene;
  }
  scene.lines = linesOf(*scene.map);
  setScale(scene);
  const auto found = std::ranges::find_if(comparison.all, [&](const auto& difference) {
    return difference.place == subject.place && difference.tensor == subject.tensor;
  });
  if (found != comparison.all.end()) scene.floor = found->floor;
  scene.largest = largestOf(scene);
  return scene;
}

std::string describeRow(const ComparedMap& map, std::size_t at, std::int64_t of) {
  const DifferenceMap& all = *map.map;
  const RowDifference& row = all.rows[at];
  std::string words = of > 1 ? "worst of " + describeCount(of, "row") + " here: " : "";
  words += map.lines[at / all.tokens.size()];
  words += ", token " + toString(all.tokens[at % all.tokens.size()]);
  if (!row.compared()) {
    if (!row.rank.exists() && !row.other.exists()) return words + " is recorded in neither";
    return words + (row.rank.exists()
                        ? " is not recorded in B; rank " + toString(row.rank) + " had it in A"
                        : " is not recorded in A; rank " + toString(row.other) + " had it in B");
  }
  const bool one = all.width == 1;
  if (row.difference == 0)
    return words + (one ? " is " + number(row.a) + " in both" : " is equal in both") + "; " +
           owners(row);
  words += " " + sizeWords(map, row);
  words += one ? "; " : "; most at number " + std::to_string(row.element) + ": ";
  return words + number(row.a) + " in A (rank " + toString(row.rank) + "), " + number(row.b) +
         " in B (rank " + toString(row.other) + ")";
}

std::optional<std::size_t> rowThatDiffers(const ComparedMap& map, std::optional<std::size_t> from,
                                          bool forward) {
  if (map.empty()) return std::nullopt;
  const auto& rows = map.map->rows;
  if (!from) {
    const std::size_t worst = worstOf(rows);
    return differs(rows[worst]) ? std::optional(worst) : std::nullopt;
  }
  const std::size_t all = rows.size(), by = forward ? 1 : all - 1;
  for (std::size_t i = (*from + by) % all; i != *from; i = (i + by) % all)
    if (differs(rows[i])) return i;
  return differs(rows[*from]) ? from : std::nullopt;
}

std::int64_t FoldedMap::comparedRows(const DifferenceMap& map, std::size_t line,
                                     std::size_t column) const {
  const auto many = [](std::size_t at, std::size_t of, std::size_t all) {
    return static_cast<std::int64_t>(begin(at + 1, of, all) - begin(at, of, all));
  };
  return many(line, lines, map.lines.size()) * many(column, columns, map.tokens.size());
}

FoldedMap folded(const DifferenceMap& map, std::size_t columns, std::size_t lines) {
  const std::size_t tokens = map.tokens.size();
  FoldedMap picture{std::clamp<std::size_t>(columns, 1, tokens),
                    std::clamp<std::size_t>(lines, 1, map.lines.size()),
                    {}};
  picture.worst.reserve(picture.lines * picture.columns);
  for (std::size_t y = 0; y < picture.lines; ++y)
    for (std::size_t x = 0; x < picture.columns; ++x) {
      const std::size_t top = begin(y, picture.lines, map.lines.size());
      const std::size_t bottom = begin(y + 1, picture.lines, map.lines.size());
      const std::size_t left = begin(x, picture.columns, tokens);
      const std::size_t right = begin(x + 1, picture.columns, tokens);
      std::size_t worst = top * tokens + left;
      for (std::size_t line = top; line < bottom; ++line)
        for (std::size_t at = line * tokens + left; at < line * tokens + right; ++at)
          if (isWorse(map.rows[at], map.rows[worst])) worst = at;
      picture.worst.push_back(worst);
    }
  return picture;
}

}  // namespace ringscope::viz

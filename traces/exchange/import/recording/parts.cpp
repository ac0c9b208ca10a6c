// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <tuple>

#include "traces/exchange/import/recording/job.h"
#include "traces/format/core/hash.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// A gradient or weight of a training step; `nth` counts repeated recordings of it.
struct Which {
  std::int64_t step;
  std::string what, name;
  std::size_t nth;
  friend bool operator<(const Which& a, const Which& b) {
    return std::tie(a.step, a.what, a.name, a.nth) < std::tie(b.step, b.what, b.name, b.nth);
  }
};
using PartsOfRank = std::map<Which, std::size_t>;  ///< index of the line

PartsOfRank partsFor(const RankLines& rank) {
  PartsOfRank parts;
  std::map<Which, std::size_t> seen;
  for (std::size_t i = 0; i < rank.lines.size(); ++i) {
    const Line& line = rank.lines[i];
    if (line.kind() != "tensor" || !line.has("part")) continue;
    Which which{line.whole("step"), line.text("what"), line.text("name"), 0};
    const std::size_t nth = seen[which]++;
    which.nth = nth;
    parts.emplace(std::move(which), i);
  }
  return parts;
}

/// Returns the number of elements of a shape; nullopt when the shape is missing or impossibly
/// large.
std::optional<std::int64_t> countOf(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && count > (std::int64_t{1} << 40) / extent)) return std::nullopt;
    count *= extent;
  }
  return shape.empty() ? std::nullopt : std::optional(count);
}

/// The statistics over all parts.
struct Merged {
  double min = 0, max = 0, sum = 0, abs_max = 0, finite = 0;
  std::int64_t nan = 0, inf = 0;

  void add(const Line& stats, std::int64_t count) {
    const std::int64_t odd = stats.whole("nan", 0) + stats.whole("inf", 0);
    nan += stats.whole("nan", 0);
    inf += stats.whole("inf", 0);
    if (count <= odd) return;
    const double low = stats.real("min").value_or(0), high = stats.real("max").value_or(0);
    min = finite > 0 ? std::min(min, low) : low;
    max = finite > 0 ? std::max(max, high) : high;
    abs_max = std::max(abs_max, stats.real("abs_max").value_or(0));
    const auto share = static_cast<double>(count - odd);
    sum += stats.real("mean").value_or(0) * share;
    finite += share;
  }
  nlohmann::json json() const {
    return {{"min", min},         {"max", max}, {"mean", finite > 0 ? sum / finite : 0},
            {"abs_max", abs_max}, {"nan", nan}, {"inf", inf}};
  }
};

/// A tensor that is put together from its parts in order.
class Whole {
 public:
  explicit Whole(const Line& first) : of_(first.part("part").wholes("of")) {}

  /// Adds a part. Returns false when it is not the next part of this tensor.
  bool add(const Line& line) {
    const Line part = line.part("part");
    const auto shape = line.wholes("shape");
    const auto share = part.hash("hash");
    const auto count = countOf(shape);
    if (!share || !count || part.wholes("of") != of_ || shape.size() != of_.size()) return false;
    if (!std::equal(shape.begin() + 1, shape.end(), of_.begin() + 1)) return false;
    if (part.whole("begin") != rows_ && *count > 0) return false;
    rows_ += shape.front();
    if (rows_ > of_.front()) return false;
    hash_ += *share;
    stats_.add(line.part("stats"), *count);
    if (*count == 0) return true;
    nlohmann::json at = line.part("values").json();
    has_values_ = has_values_ && at.contains("key");
    at["shape"] = shape;
    values_.push_back(std::move(at));
    return true;
  }

  /// Returns the fields of the whole tensor's line; nullopt when parts are missing.
  std::optional<nlohmann::json> fields(const std::string& dtype_name) const {
    const auto count = countOf(of_);
    const auto dtype = findByName<DType>(dtype_name);
    if (!count || !dtype || rows_ != of_.front()) return std::nullopt;
    std::array<char, 17> digits{};
    const auto size = static_cast<std::uint64_t>(*count) * byteSize(*dtype);
    std::snprintf(digits.data(), digits.size(), "%016llx",
                  static_cast<unsigned long long>(hashOfWhole(hash_, size)));
    nlohmann::json fields{
        {"shape", of_}, {"hash", digits.data()}, {"stats", stats_.json()}, {"joined", true}};
    if (has_values_) fields["values"] = {{"parts", values_}};
    return fields;
  }

 private:
  std::vector<std::int64_t> of_;
  std::int64_t rows_ = 0;
  std::uint64_t hash_ = 0;
  bool has_values_ = true;
  nlohmann::json values_ = nlohmann::json::array();
  Merged stats_;
};

class Joiner {
 public:
  explicit Joiner(RecordedJob& job) : job_(job) {
    for (std::size_t i = 0; i < job.ranks.size(); ++i) {
      files_[job.ranks[i].rank] = i;
      parts_.push_back(partsFor(job.ranks[i]));
    }
  }

  void join() {
    for (std::size_t file = 0; file < job_.ranks.size(); ++file)
      for (const auto& [which, at] : parts_[file]) joinFrom(file, which, at);
    if (alone_ > 0)
      job_.problems.push_back(describeCount(alone_, "part") +
                              " of gradients or weights: the others of the same whole are not all "
                              "there, or do not fit");
  }

 private:
  /// Joins a tensor, starting from the first rank that has a part, for all ranks.
  void joinFrom(std::size_t file, const Which& which, std::size_t at) {
    const Line& own = job_.ranks[file].lines[at];
    if (own.flag("joined")) return;
    const auto ranks = own.part("part").ranks("ranks");
    if (std::set(ranks.begin(), ranks.end()).size() < ranks.size()) {
      ++alone_;
      return;
    }
    std::vector<Line*> lines;
    Whole whole(own);
    for (const WorldRank rank : ranks) {
      Line* line = lineOf(rank, which);
      const bool fits = line && !line->flag("joined") && line->text("dtype") == own.text("dtype") &&
                        line->part("part").ranks("ranks") == ranks && whole.add(*line);
      if (!fits) break;
      lines.push_back(line);
    }
    const auto fields = whole.fields(own.text("dtype"));
    const bool has_own = std::ranges::find(lines, &own) != lines.end();
    if (!fields || !has_own || lines.size() != ranks.size()) {
      ++alone_;
      return;
    }
    for (Line* line : lines) {
      nlohmann::json json = line->json();
      json.erase("values");
      json.update(*fields);
      *line = Line(json);
    }
  }

  Line* lineOf(WorldRank rank, const Which& which) {
    const auto file = files_.find(rank);
    if (file == files_.end()) return nullptr;
    const auto found = parts_[file->second].find(which);
    return found == parts_[file->second].end() ? nullptr
                                               : &job_.ranks[file->second].lines[found->second];
  }

  RecordedJob& job_;
  std::map<WorldRank, std::size_t> files_;
  std::vector<PartsOfRank> parts_;
  std::int64_t alone_ = 0;
};

}  // namespace

void joinParts(RecordedJob& job) {
  Joiner(job).join();
}

}  // namespace ringscope::traces

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "traces/analysis/account/lanes.h"

namespace ringscope::viz {

using traces::kShades;
using traces::Shade;

/// A stretch of one lane; 24 bytes, since there may be ten millions.
struct Span {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int16_t source = -1;      ///< index of the rank whose block it is about; −1: none
  std::int16_t peer_index = -1;  ///< of the rank at the other end; −1: none
  std::uint8_t kind = 0;         ///< traces::EventKind
  std::uint8_t payload = 0;      ///< traces::Payload
  Shade shade = Shade::kCompute;

  std::int64_t length() const { return end_ns - begin_ns; }
  friend bool operator==(const Span&, const Span&) = default;
};

/// Grows without moving what is there: ten millions must not lie in memory twice.
template <typename T>
class Blocks {
 public:
  void append(const T& value) {
    if (size_ % kBlock == 0) blocks_.push_back(std::make_unique<T[]>(kBlock));
    blocks_.back()[size_++ % kBlock] = value;
  }
  T& operator[](std::size_t i) { return blocks_[i / kBlock][i % kBlock]; }
  const T& operator[](std::size_t i) const { return blocks_[i / kBlock][i % kBlock]; }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kBlock = 1024;
  std::vector<std::unique_ptr<T[]>> blocks_;
  std::size_t size_ = 0;
};

/// The sum of consecutive spans of a lane.
struct SpanSum {
  std::int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;
  std::int64_t bytes = 0;
  std::array<float, kShades> busy_ns{};
  std::int16_t source = kNobody;  ///< of all that are about a block; kNobody: of none, or several
  bool several = false;

  static constexpr std::int16_t kNobody = -1;

  void add(const Span& span, std::int64_t span_bytes) {
    begin_ns = std::min(begin_ns, span.begin_ns);
    end_ns = std::max(end_ns, span.end_ns);
    bytes += span_bytes;
    const auto length = static_cast<float>(span.length());
    busy_ns[static_cast<std::size_t>(span.shade)] += length;
    name(span.source, false);
  }
  void add(const SpanSum& other) {
    begin_ns = std::min(begin_ns, other.begin_ns);
    end_ns = std::max(end_ns, other.end_ns);
    bytes += other.bytes;
    for (std::size_t i = 0; i < kShades; ++i) busy_ns[i] += other.busy_ns[i];
    name(other.source, other.several);
  }

 private:
  void name(std::int16_t of, bool mixed) {
    several |= mixed || (of >= 0 && source >= 0 && of != source);
    source = several ? kNobody : std::max(source, of);
  }
};

/// The spans of one lane with the sums of 16, of 256, and so on. A walk costs as much as the pixels
/// that it fills, however many events lie there.
class SpanTree {
 public:
  void add(const Span& span, std::int64_t bytes = 0) {
    if (bytes != 0 || bytes_.size() > 0) {
      while (bytes_.size() < spans_.size()) bytes_.append(0);
      bytes_.append(bytes);
    }
    spans_.append(span);
    shades_ |= 1U << static_cast<unsigned>(span.shade);
  }
  /// After the last add(): puts spans into the order of their begins, and sums them.
  void finish() {
    sort();
    levels_.clear();
    std::size_t count = spans_.size();
    for (bool leaves = true; count > 1 || (leaves && count > 0); leaves = false) {
      std::vector<SpanSum> sums((count + kFan - 1) / kFan);
      for (std::size_t i = 0; i < count; ++i) {
        if (leaves)
          sums[i / kFan].add(spans_[i], bytes(i));
        else
          sums[i / kFan].add(levels_.back()[i]);
      }
      count = sums.size();
      levels_.push_back(std::move(sums));
    }
  }

  /// Before finish(): puts every time where `moved` says.
  template <typename Moved>
  void moveTimes(Moved moved) {
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      spans_[i].begin_ns = moved(spans_[i].begin_ns);
      spans_[i].end_ns = moved(spans_[i].end_ns);
    }
  }

  std::size_t size() const { return spans_.size(); }
  const Span& operator[](std::size_t i) const { return spans_[i]; }
  std::int64_t bytes(std::size_t i) const { return i < bytes_.size() ? bytes_[i] : 0; }
  /// The shades of its spans, a bit each.
  std::uint32_t shades() const { return shades_; }
  /// Returns the sum of all spans; null when there are none.
  const SpanSum* total() const { return levels_.empty() ? nullptr : &levels_.back().front(); }

  /// Visits all spans that touch [begin_ns, end_ns], in the order of their begins. Sums that are no
  /// longer than `most_ns` are visited as a whole, and other spans one by one. The function
  /// `on_sum` gets a sum and the number of its spans, `on_span` the index of a span.
  template <typename OnSum, typename OnSpan>
  void visit(double begin_ns, double end_ns, double most_ns, OnSum on_sum, OnSpan on_span) const {
    const auto joins = [most_ns](const SpanSum& sum) {
      return static_cast<double>(sum.end_ns - sum.begin_ns) <= most_ns;
    };
    if (levels_.empty()) return;
    walk(levels_.size() - 1, 0, begin_ns, end_ns, joins, on_sum, on_span);
  }
  /// The same, where sums are of what lies wholly within [begin_ns, end_ns], however long it is.
  template <typename OnSum, typename OnSpan>
  void visitWithin(double begin_ns, double end_ns, OnSum on_sum, OnSpan on_span) const {
    const auto joins = [begin_ns, end_ns](const SpanSum& sum) {
      return static_cast<double>(sum.begin_ns) >= begin_ns &&
             static_cast<double>(sum.end_ns) <= end_ns;
    };
    if (levels_.empty()) return;
    walk(levels_.size() - 1, 0, begin_ns, end_ns, joins, on_sum, on_span);
  }

 private:
  static constexpr std::size_t kFanBits = 4, kFan = 1U << kFanBits;

  /// False: all that follows begins later than what is looked at.
  template <typename Joins, typename OnSum, typename OnSpan>
  bool walk(std::size_t level, std::size_t at, double begin_ns, double end_ns, const Joins& joins,
            OnSum& on_sum, OnSpan& on_span) const {
    const SpanSum& sum = levels_[level][at];
    if (static_cast<double>(sum.begin_ns) > end_ns) return false;
    if (static_cast<double>(sum.end_ns) < begin_ns) return true;
    if (joins(sum)) {
      const std::size_t bits = kFanBits * (level + 1);
      on_sum(sum, std::min(spans_.size(), (at + 1) << bits) - (at << bits));
      return true;
    }
    const std::size_t below = level == 0 ? spans_.size() : levels_[level - 1].size();
    for (std::size_t i = at * kFan; i < std::min(below, (at + 1) * kFan); ++i) {
      if (level > 0) {
        if (!walk(level - 1, i, begin_ns, end_ns, joins, on_sum, on_span)) return false;
        continue;
      }
      const Span& span = spans_[i];
      if (static_cast<double>(span.begin_ns) > end_ns) return false;
      if (static_cast<double>(span.end_ns) >= begin_ns) on_span(i);
    }
    return true;
  }

  /// Messages are recorded as they end, which is nearly the order of their begins.
  void sort() {
    std::size_t first = 1;
    while (first < spans_.size() && spans_[first - 1].begin_ns <= spans_[first].begin_ns) ++first;
    if (first >= spans_.size()) return;
    std::vector<std::pair<Span, std::int64_t>> all;
    all.reserve(spans_.size());
    for (std::size_t i = 0; i < spans_.size(); ++i) all.emplace_back(spans_[i], bytes(i));
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.first.begin_ns < b.first.begin_ns;
    });
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      spans_[i] = all[i].first;
      if (i < bytes_.size()) bytes_[i] = all[i].second;
    }
  }

  Blocks<Span> spans_;
  Blocks<std::int64_t> bytes_;  // of the first spans; the rest have none
  std::vector<std::vector<SpanSum>> levels_;
  std::uint32_t shades_ = 0;
};

/// The shades of a set of bits, in their order; `count` of them.
struct ShadeList {
  std::array<std::uint8_t, kShades> shades{};
  std::size_t count = 0;

  explicit ShadeList(std::uint32_t bits) {
    for (std::size_t i = 0; i < kShades; ++i)
      if ((bits >> i & 1U) != 0) shades[count++] = static_cast<std::uint8_t>(i);
  }
  const std::uint8_t* begin() const { return shades.data(); }
  const std::uint8_t* end() const { return shades.data() + count; }
};

}  // namespace ringscope::viz

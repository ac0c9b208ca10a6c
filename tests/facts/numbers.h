// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "tests/facts/plan_oracle.h"

namespace ringscope::facts {

/// The inputs of one attention: a whole sequence, and the query heads of one tp rank.
struct Numbers {
  int batch = 1, heads = 1, kv_heads = 1, width = 1, length = 1;
  double scale = 1;
  std::vector<double> q, k, v, sinks;

  /// A row of q (with all query heads), or of k or v.
  const double* row(const std::vector<double>& of, int heads_of, int b, int head, int token) const {
    return &of[static_cast<std::size_t>(((b * heads_of + head) * length + token) * width)];
  }
  double score(int b, int head, int query, int key) const {
    const double* a = row(q, heads, b, head, query);
    const double* c = row(k, kv_heads, b, head / (heads / kv_heads), key);
    double sum = 0;
    for (int d = 0; d < width; ++d) sum += a[d] * c[d];
    return scale * sum;
  }
};

/// The result of a query after it attended the keys among `keys` that its mask allows.
struct Attended {
  double lse = -std::numeric_limits<double>::infinity();
  double out = 0;  ///< first element
  bool any() const { return !std::isinf(lse); }
};

inline Attended attend(const PlanOracle& oracle, const Numbers& n, int b, int head, int query,
                       const std::vector<int>& keys) {
  Attended result;
  double most = -std::numeric_limits<double>::infinity(), sum = 0, weighted = 0;
  for (const int key : keys)
    if (oracle.allowed(query, key)) most = std::max(most, n.score(b, head, query, key));
  if (std::isinf(most)) return result;
  for (const int key : keys) {
    if (!oracle.allowed(query, key)) continue;
    const double weight = std::exp(n.score(b, head, query, key) - most);
    sum += weight;
    weighted += weight * *n.row(n.v, n.kv_heads, b, head / (n.heads / n.kv_heads), key);
  }
  return {most + std::log(sum), weighted / sum};
}

}  // namespace ringscope::facts

// SPDX-License-Identifier: Apache-2.0
#include "tests/facts/compared_rows.h"

#include <cmath>
#include <limits>

#include "traces/format/trace/trace.h"

namespace ringscope::facts {

Rows rowsFor(const Case& c, const traces::Place& place, const std::string& tensor) {
  Rows rows;
  for (const traces::TensorRecord& part : c.trace->tensors()) {
    if (!part.has_values || part.tensor.text() != tensor || part.source_rank.exists()) continue;
    if (part.place != place) continue;
    const auto values = c.trace->values(part);
    if (!values) continue;
    const int group = part.rank.value() / c.cp, rank = part.rank.value() % c.cp;
    const auto& own = c.oracle(place.train_step, group).own(rank);
    const auto batch = static_cast<int>(part.shape[0]), heads = static_cast<int>(part.shape[1]);
    const auto width = values->size() / (static_cast<std::size_t>(batch * heads) * own.size());
    auto at = values->begin();
    for (int b = 0; b < batch; ++b)
      for (int h = 0; h < heads; ++h)
        for (const int token : own) {
          const auto end = at + static_cast<std::ptrdiff_t>(width);
          rows[{group / c.tp * batch + b, group % c.tp * heads + h, token}] = {{at, end},
                                                                               part.rank.value()};
          at = end;
        }
  }
  return rows;
}

double distance(const Row& a, const Row& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.numbers.size(); ++i) {
    const double x = a.numbers[i], y = b.numbers[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!std::isfinite(x - y)) return std::numeric_limits<double>::infinity();
    squares += (x - y) * (x - y);
  }
  return std::sqrt(squares);
}

}  // namespace ringscope::facts

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "tests/facts/facts_case.h"

namespace ringscope::facts {

/// The sequence, query head and token of one row of an attention tensor.
struct RowKey {
  int sequence = 0, head = 0, token = 0;
  bool operator<(const RowKey& other) const {
    return std::tie(sequence, head, token) < std::tie(other.sequence, other.head, other.token);
  }
};
struct Row {
  std::vector<double> numbers;
  int world = 0;
};
using Rows = std::map<RowKey, Row>;

/// A tensor of a layer as all ranks recorded it, [B, heads, own tokens, width]; who has which token
/// is the plan's.
Rows rowsFor(const Case& c, const traces::Place& place, const std::string& tensor);

/// 2-norm of the difference; infinite where one alone has a number that is finite.
double distance(const Row& a, const Row& b);

}  // namespace ringscope::facts

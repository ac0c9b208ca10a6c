// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Returns position ids, of which those of several axes, [axes, B, S], become the largest of the
/// axes, [B, S].
std::vector<double> positionsOverAxes(const TensorRecord& ids, std::vector<double> values);

/// The tokens of a sequence at which recorded position ids begin again from 0. A document may begin
/// there. Position ids of several axes begin again where those of all axes do.
class RestartedPositions {
 public:
  RestartedPositions(const Trace& trace, std::int32_t train_step,
                     const std::vector<WorldRank>& members);

  /// Reports whether the position of a batch entry's token is 0, and it is not the first token.
  bool at(std::size_t entry, TokenIndex token) const;

  /// Reports whether the first position on every rank is 0. Each rank then has documents of its
  /// own, or numbered its own tokens. Which tokens the ranks have need not be known.
  bool onEveryRank() const { return ranks_ > 1 && beginning_ == ranks_; }

 private:
  void read(const Trace& trace, const TensorRecord& ids);

  std::set<std::pair<std::size_t, TokenIndex>> tokens_;  // by batch entry
  bool of_one_entry_ = true;                             // its positions are those of all entries
  std::size_t ranks_, beginning_ = 0;
};

}  // namespace ringscope::traces

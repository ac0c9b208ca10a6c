// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace ringscope::traces {

/// A mistake as it is asked for: its id and, after a colon, where alone it is made:
/// "ID", "ID:layer=1", "ID:rank=2,layer=0,step=1".
struct AskedMistake {
  std::string id;
  std::optional<int> rank;   ///< world rank
  std::optional<int> layer;  ///< counted from 0, as all of them
  std::optional<int> step;   ///< training step

  bool isLimited() const { return rank || layer || step; }
  /// "rank 2, layer 0, step 1"; empty where it is not limited.
  std::string places() const;

  /// Throws usageError where the text after the colon is no list of rank, layer or step with a
  /// number. Does not look whether there is such a mistake.
  static AskedMistake parse(const std::string& text);
};

}  // namespace ringscope::traces

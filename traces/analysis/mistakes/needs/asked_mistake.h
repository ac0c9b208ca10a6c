// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace ringscope::traces {

/// A mistake as it is asked for: its id and, after a colon, where alone it is made:
/// "ID", "ID:layer=1", "ID:rank=2,layer=0,step=1", "ID:buffer=labels".
struct AskedMistake {
  std::string id;
  std::optional<int> rank;   ///< world rank
  std::optional<int> layer;  ///< counted from 0, as all of them
  std::optional<int> step;   ///< training step
  std::string buffer;        ///< that the run cuts; empty: those of which the mistake is

  bool isLimited() const { return rank || layer || step || !buffer.empty(); }
  /// "rank 2, layer 0, step 1"; empty where it is not limited.
  std::string places() const;
  /// What `parse` reads.
  std::string text() const;

  /// Throws usageError where the text after the colon is no list of rank, layer or step with a
  /// number or of a buffer with a name. Does not look whether there is such a mistake.
  static AskedMistake parse(const std::string& text);
};

}  // namespace ringscope::traces

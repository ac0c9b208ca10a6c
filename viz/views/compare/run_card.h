// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

namespace ringscope::viz {

/// One of two recordings that are compared, on its card.
struct RunCard {
  std::string letter;    ///< "A", "B"
  std::string name;      ///< of the file; of a what-if "after · …"
  std::string headline;  ///< what run it is
  std::string numbers;   ///< "loss 5.72 · gradient norm 0.66" of the viewed training step

  friend bool operator==(const RunCard&, const RunCard&) = default;
};

}  // namespace ringscope::viz

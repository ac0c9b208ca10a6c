// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QMetaType>
#include <QString>
#include <vector>

namespace ringscope::viz {

/// A tensor that a paused run holds, so that it can be read.
struct LiveTensor {
  int rank = 0;
  QString name;
  int layer = -1;
  QString type;
  std::vector<std::int64_t> shape;
};

/// The last two dimensions of a tensor that a paused run holds, as it was asked for and answered.
struct LiveRead {
  int rank = 0;
  QString tensor;
  int layer = -1;
  std::vector<std::int64_t> lead;  ///< index of each dimension before the last two

  QString place;                    ///< where the rank had it last
  std::vector<std::int64_t> shape;  ///< of the whole tensor
  std::vector<double> values;       ///< of the slice
  QString failure;                  ///< why it could not be read; empty when it was

  bool sameAs(const LiveRead& other) const {
    return rank == other.rank && tensor == other.tensor && layer == other.layer &&
           lead == other.lead;
  }
};

}  // namespace ringscope::viz

Q_DECLARE_METATYPE(ringscope::viz::LiveRead)

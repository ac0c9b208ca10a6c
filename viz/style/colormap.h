// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>

namespace ringscope::viz {

/// Magnitude from 0 to 1 in cividis, which reads the same with and without full colour vision
/// (Nuñez, Anderton, Renslow 2018). NaN gives an invalid colour.
QColor magnitudeColor(double value);

/// A signed value from −1 to 1 in blue, white and red; within ±`neutral` it is white.
QColor signedColor(double value, double neutral = 0);

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/maths/span_tree.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// The colour of what is no block's, the same in lanes, panel and legend.
inline QColor shadeColor(Shade shade, const Theme& theme) {
  switch (shade) {
    case Shade::kAttend:
      return theme.accent;
    case Shade::kMerge:
      return theme.right;
    case Shade::kCompute:
      return QColor("#5B8DBE");
    case Shade::kLoss:
      return QColor("#8C97A4");
    case Shade::kSync:
      return QColor("#8F86D0");
    case Shade::kVerify:
      return QColor("#7FA7A0");
    case Shade::kWait:
      return theme.wait;
    case Shade::kPause:
      return theme.dim;
    default:
      return QColor("#6B7785");
  }
}

/// Dark or light, whichever is read better on this ground.
inline QColor inkOn(const QColor& ground) {
  const QColor dark("#0E1116"), light("#FFFFFF");
  return contrast(dark, ground) >= contrast(light, ground) ? dark : light;
}

}  // namespace ringscope::viz

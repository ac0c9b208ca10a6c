// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRectF>

namespace ringscope::viz {

/// Where the parts of the Timeline view lie.
struct TimelinePage {
  QRectF bar, overview, chart, legend, sentence, panel;
  QRectF controls;  ///< over the panel; under the bar where that is left out and they are needed
};

/// The panel stands at the right, or lies below where it is narrow and not too low for that; it is
/// left out where there is no room for both. `legend`: its height at a width. `controls`: their
/// height over the panel; `without`: where there is no panel.
TimelinePage timelinePage(const QRectF& page, double (*legend)(double width), double controls,
                          double without);

}  // namespace ringscope::viz

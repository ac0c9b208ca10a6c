// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRectF>

namespace ringscope::viz {

/// Where the parts of the Timeline view lie.
struct TimelinePage {
  QRectF bar, overview, chart, legend, sentence, panel;
};

/// The panel stands at the right, or lies below where it is narrow and not too low for that; it is
/// left out where there is no room for both. `legend`: its height at a width.
TimelinePage timelinePage(const QRectF& page, double (*legend)(double width));

}  // namespace ringscope::viz

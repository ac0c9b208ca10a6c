// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFont>
#include <QRectF>
#include <QString>

namespace ringscope::viz {

/// The layout of the Timeline view.
struct TimelinePage {
  QRectF bar, overview, chart, legend, sentence, panel;
  QRectF controls;  ///< over the panel; under the bar where that is left out and they are needed
};

/// Lays out the Timeline view. The panel lies at the right, or below in a view that is narrow and
/// high enough, and is left out without room for both. The function `legend` returns the legend's
/// height at a width. The controls are `controls` high over the panel, and `without` high when
/// there is no panel. The sentence has its height, at least that of two lines.
TimelinePage timelinePage(const QRectF& page, double (*legend)(double width),
                          const QString& sentence, double controls, double without);

/// The font of the sentence, and the part of its place that its words fill.
QFont sentenceFont();
QRectF sentenceText(const QRectF& sentence);

}  // namespace ringscope::viz

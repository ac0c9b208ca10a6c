// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/timeline_page.h"

#include <algorithm>
#include <cmath>

#include "viz/views/timeline/overview_painter.h"

namespace ringscope::viz {
namespace {

constexpr double kTimelinePageBar = 44, kPanel = 320, kLeastChart = 420, kLeastHeight = 150;

/// Returns the height of the longest sentence about a step, in the lines that it needs at a width.
double sentenceHeight(double width) {
  constexpr double kLongest = 1330, kMargins = 40, kLine = 19;
  return 8 + kLine * std::clamp(std::ceil(kLongest / std::max(1.0, width - kMargins)), 2.0, 4.0);
}

}  // namespace

TimelinePage timelinePage(const QRectF& page, double (*legend)(double width), double controls,
                          double without) {
  TimelinePage at;
  QRectF rest = page;
  if (page.width() - kPanel >= kLeastChart) {
    at.panel = QRectF(page.right() - kPanel, page.top(), kPanel, page.height());
    rest.setRight(at.panel.left());
  } else if (page.height() >= 700) {
    at.panel = page.adjusted(0, std::round(page.height() * 0.6), 0, 0);
    rest.setBottom(at.panel.top());
  }
  const auto take = [&](double height) {
    const QRectF part(rest.left(), rest.top(), rest.width(), height);
    rest.setTop(rest.top() + height);
    return part;
  };
  at.bar = take(kTimelinePageBar);
  if (at.panel.isEmpty()) {
    at.controls = take(without);
  } else {
    at.controls = QRectF(at.panel.left() + 1, at.panel.top(), at.panel.width() - 1, controls);
    at.panel.setTop(at.panel.top() + controls);
  }
  at.overview = take(kOverviewHeight);
  const double below = legend(rest.width());
  const double needed = sentenceHeight(rest.width());
  const double sentence = rest.height() - below - needed >= kLeastHeight ? needed : 0;
  at.chart = QRectF(rest.left(), rest.top(), rest.width(),
                    std::max(60.0, rest.height() - sentence - below - 8));
  at.legend = QRectF(rest.left(), at.chart.bottom() + 8, rest.width(), below);
  at.sentence = QRectF(rest.left(), at.legend.bottom(), rest.width(), sentence);
  return at;
}

}  // namespace ringscope::viz

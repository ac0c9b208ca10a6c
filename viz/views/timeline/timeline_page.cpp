// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/timeline_page.h"

#include <algorithm>
#include <cmath>

#include "viz/kit/page.h"
#include "viz/views/timeline/overview_painter.h"

namespace ringscope::viz {
namespace {

constexpr double kTimelinePageBar = 44, kLeastSentence = 46, kPanel = 320, kLeastChart = 420,
                 kLeastHeight = 150;

}  // namespace

QFont sentenceFont() {
  return textFont(13, QFont::Medium);
}

QRectF sentenceText(const QRectF& sentence) {
  return sentence.adjusted(20, 4, -20, -4);
}

TimelinePage timelinePage(const QRectF& page, double (*legend)(double width),
                          const QString& sentence, double controls, double without) {
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
  const QRectF words = sentenceText({0, 0, rest.width(), kLeastSentence});
  const double wrapped = wrappedHeight(sentence, sentenceFont(), words.width()),
               needed = kLeastSentence + std::max(0.0, wrapped - words.height()),
               height = rest.height() - below - needed >= kLeastHeight ? needed : 0;
  at.chart = QRectF(rest.left(), rest.top(), rest.width(),
                    std::max(60.0, rest.height() - height - below - 8));
  at.legend = QRectF(rest.left(), at.chart.bottom() + 8, rest.width(), below);
  at.sentence = QRectF(rest.left(), at.legend.bottom(), rest.width(), height);
  return at;
}

}  // namespace ringscope::viz

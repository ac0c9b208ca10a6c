// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/timeline_search.h"

#include <algorithm>

namespace ringscope::viz {

TimelineSearch::TimelineSearch(QWidget* view) : EntryField(view) {
  setAccessibleName("Search the timeline");
  setPlaceholderText("search: wait > 1 ms, kv 2 layer 1 …");
  setToolTip(
      "A kind (attend, wait, send, merge, project, …), kv N, rank N, step N, layer N, forward, "
      "backward, > N ms. Enter: the next one; Shift+Enter: the one before.");
  answer_ = new QLabel(view);
  answer_->setObjectName("dim");
  answer_->setTextFormat(Qt::PlainText);
  answer_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
}

void TimelineSearch::place(const QRectF& bar, double zoom) {
  const double wide = std::clamp(bar.width() * 0.26, 150.0, 248.0);
  const QRectF box(bar.right() - 20 - wide, bar.top() + 8, wide, 28);
  const QRectF words(box.left() - 190, box.top(), 180, box.height());
  setGeometry(QRectF(box.topLeft() * zoom, box.size() * zoom).toAlignedRect());
  answer_->setGeometry(QRectF(words.topLeft() * zoom, words.size() * zoom).toAlignedRect());
}

}  // namespace ringscope::viz

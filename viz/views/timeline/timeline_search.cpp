// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/timeline_search.h"

#include <QKeyEvent>
#include <algorithm>

namespace ringscope::viz {

TimelineSearch::TimelineSearch(QWidget* view) : QLineEdit(view) {
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

/// Takes Esc from the window, which has a shortcut for it.
bool TimelineSearch::event(QEvent* event) {
  const bool escape = event->type() == QEvent::ShortcutOverride &&
                      static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape;
  if (!escape) return QLineEdit::event(event);
  event->accept();
  return true;
}

void TimelineSearch::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) return Q_EMIT left();
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)
    return Q_EMIT asked(event->modifiers() & Qt::ShiftModifier);
  QLineEdit::keyPressEvent(event);
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>

#include "viz/kit/entry_field.h"

namespace ringscope::viz {

/// The search field of the Timeline view with its answer beside it. Enter looks for the next match,
/// Shift+Enter for the one before, and Esc leaves the field.
class TimelineSearch : public EntryField {
  Q_OBJECT
 public:
  explicit TimelineSearch(QWidget* view);

  /// Takes the right end of a bar, in pixels that `zoom` enlarges.
  void place(const QRectF& bar, double zoom);
  void setAnswer(const QString& words) { answer_->setText(words); }

 private:
  QLabel* answer_;
};

}  // namespace ringscope::viz

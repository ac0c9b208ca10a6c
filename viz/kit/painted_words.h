// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFont>
#include <QPoint>
#include <QString>
#include <optional>

class QWidget;

namespace ringscope::viz {

/// A piece of text on screen, and the letter of it that is at some point.
struct WordsAt {
  QString words;
  qsizetype letter = 0;
};

/// Returns the text that a widget paints at a point of it; nullopt when it paints none there. The
/// widget is painted once more, into a device that keeps the text.
std::optional<WordsAt> paintedWordsAt(QWidget& widget, const QPoint& point);

}  // namespace ringscope::viz

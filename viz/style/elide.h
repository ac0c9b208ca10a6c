// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFontMetrics>
#include <QString>

namespace ringscope::viz {

/// Whether a number as it is written may have this character.
inline bool isOfNumber(QChar c) {
  return c.isDigit() || c == u'.' || c == u',' || c == u'−';
}

/// Words that may be too long for a width: their beginning and "…". A number is there whole or not
/// at all: of "8–105" no "8–10…" is left, and of "1.5 M×" no "1.5…".
inline QString elided(const QFontMetrics& metrics, const QString& words, double width) {
  QString shown = metrics.elidedText(words, Qt::ElideRight, static_cast<int>(width));
  if (shown == words || !shown.endsWith(u'…')) return shown;
  qsizetype kept = shown.size() - 1;
  while (kept > 0 && words[kept - 1].isSpace()) --kept;
  const bool goes_on = kept > 0 && kept < words.size() && isOfNumber(words[kept - 1]) &&
                       (words[kept - 1].isDigit() || words[kept].isDigit());
  const bool cut = goes_on && words.mid(kept, 2) != ", " && words.mid(kept, 2) != "; ";
  while (cut && kept > 0 && isOfNumber(words[kept - 1])) --kept;
  return cut ? words.left(kept).trimmed() + u'…' : shown;
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QHash>
#include <QImage>

namespace ringscope::viz {

/// Formats a number for SVG, rounded to hundredths.
QByteArray svgNumber(double value);
/// Returns text in which markup has no meaning. Control characters are replaced.
QByteArray escapeMarkup(const QString& text);

/// Patterns, clips and images that the pictures of one page share. Equal definitions are stored
/// once.
class Definitions {
 public:
  /// Returns the id of an element. `rest` is its markup after the attribute id.
  QByteArray add(const char* tag, const QByteArray& rest);
  /// Returns the id of an image element of one unit by one unit.
  QByteArray addImage(const QImage& image, bool smooth);
  /// Returns the markup of all definitions.
  const QByteArray& markup() const { return markup_; }

 private:
  QHash<QByteArray, QByteArray> ids_;
  QByteArray markup_;
};

}  // namespace ringscope::viz

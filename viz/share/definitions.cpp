// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/share/definitions.h"

#include <QBuffer>
#include <cmath>

namespace ringscope::viz {

QByteArray svgNumber(double value) {
  if (!std::isfinite(value)) return "0";
  QByteArray text = QByteArray::number(value, 'f', 2);
  while (text.endsWith('0')) text.chop(1);
  if (text.endsWith('.')) text.chop(1);
  return text == "-0" ? "0" : text;
}

QByteArray escapeMarkup(const QString& text) {
  QString plain = text;
  for (QChar& c : plain)
    if (c.unicode() < 0x20 || c.unicode() == 0x7f) c = QChar(0xfffd);
  return plain.toHtmlEscaped().toUtf8();
}

QByteArray Definitions::add(const char* tag, const QByteArray& rest) {
  const QByteArray key = QByteArray(tag) + " " + rest;
  const auto found = ids_.constFind(key);
  if (found != ids_.constEnd()) return *found;
  const QByteArray id = "d" + QByteArray::number(ids_.size());
  markup_ += "<" + QByteArray(tag) + " id=\"" + id + "\" " + rest;
  return *ids_.insert(key, id);
}

QByteArray Definitions::addImage(const QImage& image, bool smooth) {
  QByteArray png;
  QBuffer buffer(&png);
  buffer.open(QIODevice::WriteOnly);
  image.save(&buffer, "PNG");
  return add("image", "width=\"1\" height=\"1\" preserveAspectRatio=\"none\"" +
                          QByteArray(smooth ? "" : " class=\"px\"") +
                          " href=\"data:image/png;base64," + png.toBase64() + "\"/>");
}

}  // namespace ringscope::viz

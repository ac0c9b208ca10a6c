// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/panel_writer.h"

#include "viz/style/elide.h"

namespace ringscope::viz {

void PanelWriter::say(const QRectF& box, int flags, const QString& words) {
  const QRectF seen = p_.clipBoundingRect();
  if (!p_.hasClipping() || (box.top() >= seen.top() && box.bottom() <= seen.bottom()))
    p_.drawText(box, flags, words);
}

void PanelWriter::section(const QString& words) {
  p_.setFont(textFont(11, QFont::DemiBold));
  p_.setPen(theme_.dim);
  say(QRectF(area_.left(), y_, area_.width(), 16), Qt::AlignVCenter, words);
  y_ += 24;
}

void PanelWriter::sentence(const std::string& words, const QColor& color) {
  p_.setFont(textFont(12));
  p_.setPen(color);
  const QRectF box(area_.left(), y_, area_.width(), 400);
  const QString text = QString::fromStdString(words);
  const double height = p_.boundingRect(box, Qt::TextWordWrap, text).height();
  say(QRectF(box.topLeft(), QSizeF(box.width(), height)), Qt::TextWordWrap, text);
  y_ += height + 6;
}

void PanelWriter::number(double right, double width, const QString& words, const QColor& color,
                         double row) {
  p_.setFont(monoFont(11));
  p_.setPen(color);
  say(rowBox(right - width, width, row), Qt::AlignVCenter | Qt::AlignRight, words);
}

void PanelWriter::name(const QString& words, const QColor& color, double row) {
  p_.setFont(textFont(12));
  p_.setPen(color);
  say(rowBox(area_.left(), area_.width(), row), Qt::AlignVCenter, words);
}

QRectF PanelWriter::rowBox(double left, double width, double row) const {
  const double height = std::max(row, 17.0);
  return {left, y_ + (row - height) / 2, width, height};
}

void PanelWriter::details(const SpanDetails& selected) {
  y_ += 8;
  section("SELECTED");
  p_.setFont(textFont(13, QFont::DemiBold));
  p_.setPen(theme_.text);
  say(QRectF(area_.left(), y_, area_.width(), 18), Qt::AlignVCenter,
      elided(p_.fontMetrics(), QString::fromStdString(selected.title), area_.width()));
  y_ += 24;
  rows(selected.rows);
}

void PanelWriter::rows(const std::vector<std::pair<std::string, std::string>>& rows) {
  for (const auto& [what, value] : rows) {
    name(QString::fromStdString(what), theme_.dim, 17);
    number(area_.right(), area_.width(), QString::fromStdString(value), theme_.text, 17);
    y_ += 18;
  }
}

void PanelWriter::table(const AccountSection& of) {
  section(QString::fromStdString(of.title));
  rows(of.rows);
  if (!of.sentence.empty()) sentence(of.sentence, theme_.dim);
  y_ += 12;
}

}  // namespace ringscope::viz

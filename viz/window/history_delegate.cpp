// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/history_delegate.h"

#include <QLineEdit>
#include <QPainter>
#include <QPainterPath>

#include "viz/scene/units.h"
#include "viz/style/elide.h"

namespace ringscope::viz {
namespace {

constexpr int kRowHeight = 96, kCardGap = 8, kCardMargin = 10, kPictureWidth = 132,
              kFactsWidth = 150;
constexpr double kCardRadius = 8;

struct RowBoxes {
  QRectF card, picture, words, facts;
};

RowBoxes boxesIn(const QRect& row) {
  RowBoxes boxes;
  boxes.card = QRectF(row).adjusted(1, 1, -1, -kCardGap + 1);
  const QRectF inner =
      boxes.card.adjusted(kCardMargin, kCardMargin, -2 * kCardMargin, -kCardMargin);
  boxes.picture = QRectF(inner.topLeft(), QSizeF(kPictureWidth, inner.height()));
  boxes.facts = QRectF(inner.right() - kFactsWidth, inner.top(), kFactsWidth, inner.height());
  boxes.words = QRectF(QPointF(boxes.picture.right() + 16, inner.top()),
                       QPointF(boxes.facts.left() - 16, inner.bottom()));
  return boxes;
}

QRectF lineOf(const QRectF& box, int line) {
  const double height = box.height() / 3;
  return {box.left(), box.top() + line * height, box.width(), height};
}

void drawLine(QPainter& painter, const QRectF& box, const QString& words, int flags) {
  painter.drawText(box, flags | Qt::AlignVCenter,
                   elided(painter.fontMetrics(), words, box.width()));
}

}  // namespace

QString describeTime(const QDateTime& time, const QDateTime& now) {
  if (!time.isValid()) return {};
  const qint64 days = time.date().daysTo(now.date());
  const QString clock = time.toString("HH:mm");
  if (days == 0) return HistoryDelegate::tr("today %1").arg(clock);
  if (days == 1) return HistoryDelegate::tr("yesterday %1").arg(clock);
  return time.toString(time.date().year() == now.date().year() ? "d MMM HH:mm" : "d MMM yyyy");
}

void HistoryDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                            const QModelIndex& index) const {
  const HistoryRow* row = model_.row(index);
  if (!row) return;
  const RowBoxes boxes = boxesIn(option.rect);
  const bool selected = option.state & QStyle::State_Selected;
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setRenderHint(QPainter::SmoothPixmapTransform);
  const bool hovered = option.state & QStyle::State_MouseOver;
  painter->setPen(QPen(selected  ? theme_->accent
                       : hovered ? theme_->dim
                                 : theme_->line,
                       selected ? 2 : 1));
  painter->setBrush(selected ? theme_->raised : theme_->panel);
  painter->drawRoundedRect(boxes.card, kCardRadius, kCardRadius);
  paintPicture(*painter, boxes.picture, *row);
  paintWords(*painter, boxes.words, *row);
  paintFacts(*painter, boxes.facts, *row);
  painter->restore();
}

void HistoryDelegate::paintPicture(QPainter& painter, const QRectF& box,
                                   const HistoryRow& row) const {
  const QImage picture =
      row.digest ? (theme_->is_dark ? row.digest->dark : row.digest->light) : QImage();
  painter.save();
  QPainterPath corners;
  corners.addRoundedRect(box, 4, 4);
  painter.setClipPath(corners);
  painter.fillRect(box, theme_->background);
  if (!picture.isNull()) {
    painter.drawImage(box, picture);
  } else {
    painter.setPen(theme_->dim);
    painter.setFont(textFont(11));
    const bool is_coming =
        !row.digest && !row.entry.is_missing && !row.entry.is_remote && !row.is_recorded_now;
    painter.drawText(box, Qt::AlignCenter, is_coming ? tr("reading …") : tr("no picture"));
  }
  painter.restore();
}

void HistoryDelegate::paintWords(QPainter& painter, const QRectF& box,
                                 const HistoryRow& row) const {
  painter.setPen(theme_->text);
  painter.setFont(textFont(15, QFont::DemiBold));
  drawLine(painter, lineOf(box, 0), row.entry.name, Qt::AlignLeft);
  paintSettings(painter, lineOf(box, 1), row);
  const ShortVerdict state = row.state();
  painter.setPen(colorFor(state.kind));
  painter.setFont(textFont(13));
  drawLine(painter, lineOf(box, 2), state.words, Qt::AlignLeft);
}

/// Settings that differ from those of the row below are bold.
void HistoryDelegate::paintSettings(QPainter& painter, const QRectF& line,
                                    const HistoryRow& row) const {
  double left = line.left();
  const auto write = [&](const QString& words, bool bold) {
    painter.setPen(bold ? theme_->text : theme_->dim);
    painter.setFont(textFont(12, bold ? QFont::DemiBold : QFont::Normal));
    const QRectF rest(left, line.top(), line.right() - left, line.height());
    if (rest.width() < painter.fontMetrics().horizontalAdvance("m…")) return;
    drawLine(painter, rest, words, Qt::AlignLeft);
    left += painter.fontMetrics().horizontalAdvance(words);
  };
  if (!row.digest || !row.digest->problem.isEmpty()) return write(row.entry.path, false);
  if (row.digest->settings.empty()) return write(row.digest->headline, false);
  if (row.settings.empty()) return write(tr("default settings"), false);
  bool first = true;
  for (const SettingWord& word : row.settings) {
    if (!first) write(" · ", false);
    write(QString::fromStdString(word.text), word.differs_from_next);
    first = false;
  }
}

void HistoryDelegate::paintFacts(QPainter& painter, const QRectF& box,
                                 const HistoryRow& row) const {
  const HistoryEntry& entry = row.entry;
  painter.setPen(theme_->text);
  painter.setFont(monoFont(12));
  drawLine(painter, lineOf(box, 0),
           describeTime(entry.modified.isValid() ? entry.modified : entry.used,
                        QDateTime::currentDateTime()),
           Qt::AlignRight);
  painter.setPen(theme_->dim);
  if (const qint64 bytes = row.bytes(); bytes > 0)
    drawLine(painter, lineOf(box, 1), describeBytes(bytes).c_str(), Qt::AlignRight);
  QStringList marks;
  if (!row.notes.empty())
    marks << QString::fromStdString(traces::describeCount(row.notes.size(), "note"));
  if (entry.pinned) marks << tr("pinned");
  painter.setPen(entry.pinned ? theme_->accent : theme_->dim);
  painter.setFont(textFont(12, entry.pinned ? QFont::DemiBold : QFont::Normal));
  drawLine(painter, lineOf(box, 2), marks.join(" · "), Qt::AlignRight);
}

QColor HistoryDelegate::colorFor(ShortVerdict::Kind kind) const {
  switch (kind) {
    case ShortVerdict::Kind::kRight:
      return theme_->right;
    case ShortVerdict::Kind::kWrong:
      return theme_->wrong;
    default:
      return theme_->dim;
  }
}

QSize HistoryDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const {
  return {kPictureWidth + kFactsWidth, kRowHeight};
}

QWidget* HistoryDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem&,
                                       const QModelIndex&) const {
  auto* field = new QLineEdit(parent);
  field->setAccessibleName(tr("Name of the recording"));
  field->setPlaceholderText(tr("the name of the file"));
  return field;
}

void HistoryDelegate::updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                                           const QModelIndex&) const {
  const QRectF line = lineOf(boxesIn(option.rect).words, 0);
  editor->setGeometry(line.adjusted(-9, -3, 0, 3).toRect());
}

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStyledItemDelegate>

#include "viz/style/theme.h"
#include "viz/window/history_model.h"

namespace ringscope::viz {

/// Draws a row of the history: its picture, name, settings, verdict, time and size. The name is
/// edited in place.
class HistoryDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  HistoryDelegate(const HistoryModel& model, QObject* parent)
      : QStyledItemDelegate(parent), model_(model) {}

  void setTheme(const Theme& theme) { theme_ = &theme; }

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option,
                        const QModelIndex& index) const override;
  void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                            const QModelIndex& index) const override;

 private:
  void paintPicture(QPainter& painter, const QRectF& box, const HistoryRow& row) const;
  void paintWords(QPainter& painter, const QRectF& box, const HistoryRow& row) const;
  void paintSettings(QPainter& painter, const QRectF& line, const HistoryRow& row) const;
  void paintFacts(QPainter& painter, const QRectF& box, const HistoryRow& row) const;
  QColor colorFor(ShortVerdict::Kind kind) const;

  const HistoryModel& model_;
  const Theme* theme_ = &Theme::all().front();
};

/// Returns a time as a person says it: "today 14:03", "yesterday 14:03", "27 Nov 14:03".
QString describeTime(const QDateTime& time, const QDateTime& now);

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <QString>
#include <QWidget>
#include <vector>

#include "viz/hub/hub.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// A view on the stage: observes the hub, repaints on its signals, is drawn in the theme that it is
/// given.
class View : public QWidget {
  Q_OBJECT
 public:
  explicit View(Hub& hub, QWidget* parent = nullptr) : QWidget(parent), hub_(hub) {
    connect(&hub, &Hub::cursorChanged, this, [this] { cursorMoved(); });
    connect(&hub, &Hub::stateChanged, this, qOverload<>(&QWidget::update));
    setFocusPolicy(Qt::StrongFocus);
  }
  void setTheme(const Theme& theme) {
    theme_ = &theme;
    themeChanged();
    update();
  }
  /// Presenter mode draws everything larger; 1 is normal.
  void setZoom(double zoom) {
    zoom_ = zoom;
    themeChanged();
    update();
  }

 protected:
  /// What is painted lies in this rectangle, with a painter from paintPage().
  QRectF page() const { return {0, 0, QWidget::width() / zoom_, QWidget::height() / zoom_}; }
  double pageWidth() const { return page().width(); }
  double pageHeight() const { return page().height(); }
  QPointF onPage(const QPointF& position) const { return position / zoom_; }
  void begin(QPainter& painter) {
    painter.begin(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.scale(zoom_, zoom_);
  }
  /// A sentence in place of what cannot be shown; read out, too.
  void note(QPainter& painter, const QRectF& area, const QString& sentence) {
    if (accessibleDescription() != sentence) setAccessibleDescription(sentence);
    painter.setPen(theme_->dim);
    painter.setFont(textFont(15));
    painter.drawText(area.adjusted(24, 12, -24, -12), Qt::AlignCenter | Qt::TextWordWrap, sentence);
  }
  /// For views with controls of their own.
  virtual void themeChanged() {}
  /// The viewed moment or the selection has changed.
  virtual void cursorMoved() { update(); }

  Hub& hub_;
  double zoom_ = 1;
  const Theme* theme_ = &Theme::all().front();
};

/// A view of the stage as the window lists it.
struct ViewEntry {
  QString name;   ///< of --view, lower case
  QString title;  ///< of its tab
  View* (*make)(Hub& hub, QWidget* parent);
};

/// All of them, in the order of their tabs; a new one is a file in views/ and a line in
/// registry.cpp.
const std::vector<ViewEntry>& viewRegistry();

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <QString>
#include <QWidget>
#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "viz/session/viewing.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// A view on the stage. When the data or the cursor changes while it is on show, it has its scene
/// made once and keeps it; painting draws what was kept; mouse and keys become changes of the
/// cursor.
class View : public QWidget {
  Q_OBJECT
 public:
  View(Viewing& viewing, const QString& accessible_name, QWidget* parent = nullptr);
  void setTheme(const Theme& theme);
  /// Presenter mode draws everything larger; 1 is normal.
  void setZoom(double zoom);
  /// For a view that can draw a model of ranks on own devices in place of what was recorded.
  virtual void setOwnDevices(bool /*own*/) {}
  /// Something that it will draw is still being made.
  virtual bool isMaking() const { return false; }

 protected:
  /// Makes the scene anew and asks for painting.
  virtual void refresh() = 0;
  /// Forgets what the user chose in the recording before: another one has been opened.
  virtual void startOver() {}
  /// Draws what refresh() has kept, and reads nothing else but the cursor's phase and the view's
  /// own state. `dirty`: what has to be drawn, where the rest is there already; empty: all.
  virtual void paint(QPainter& painter, const QRectF& page, const QRegion& dirty) = 0;
  /// The part of the cursor that the scene depends on; the rest made equal for all cursors.
  virtual Cursor watched(Cursor cursor) const;
  /// The cursor has moved in what the scene does not depend on, or only the clock has.
  virtual void moved() {}
  /// For views with controls of their own.
  virtual void themeChanged() {}
  /// The height that everything needs at this width. Where it is more than there is, the page is
  /// that high, and the wheel, Page Up and Page Down move along it.
  virtual double neededHeight(double /*width*/) const { return 0; }

  /// Looks whether the scene is still the right one.
  void follow();
  /// refresh(), now. The data may be damaged: what making the scene throws is shown in its place.
  void renew();
  /// The same for another way to make the scene.
  void guard(const std::function<void()>& make);
  /// All of it; what is seen begins at scrollTop().
  QRectF page() const {
    const QSizeF seen = QSizeF(size()) / zoom_;
    return {0, 0, seen.width(), std::max(seen.height(), neededHeight(seen.width()))};
  }
  /// Moves along the page until this stretch of it is seen, `head` of the view being covered.
  void reveal(double top, double bottom, double head = 0);
  double scrollTop() const { return std::clamp(scroll_, 0.0, farthestScroll()); }
  QPointF onPage(const QPointF& position) const {
    return position / zoom_ + QPointF(0, scrollTop());
  }
  const Cursor& cursor() const { return viewing_.navigator.cursor(); }
  /// What is read out to who does not see.
  void describe(const std::string& sentence);

  void paintEvent(QPaintEvent* event) final;
  void showEvent(QShowEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  /// Who comes here by Tab is shown where he is; a click says that by itself.
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

  Viewing& viewing_;
  double zoom_ = 1;
  const Theme* theme_ = &Theme::all().front();

 private:
  struct Made {
    std::uint64_t version = 0;
    Cursor cursor;
    friend bool operator==(const Made&, const Made&) = default;
  };
  double farthestScroll() const { return page().height() - QWidget::height() / zoom_; }
  void scrollBy(double by);
  void paintScrollBar(QPainter& painter) const;

  std::optional<Made> made_;  // what the kept scene was made from
  int recording_ = 0;         // that the user's choices here are of
  QString problem_;           // why there is no scene; empty where there is one
  double scroll_ = 0;         // of the page's top above the view's
  bool shows_focus_ = false;
};

/// A view of the stage as the window lists it.
struct ViewEntry {
  QString name;   ///< of --view, lower case
  QString title;  ///< of its tab
  View* (*make)(Viewing& viewing, QWidget* parent);
};

/// All of them, in the order of their tabs. A new one is a scene in scene/, its painter in paint/
/// and a line in registry.cpp; one with controls or keys of its own has a file in views/ too.
const std::vector<ViewEntry>& viewRegistry();

}  // namespace ringscope::viz

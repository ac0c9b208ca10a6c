// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <QString>
#include <functional>
#include <optional>
#include <vector>

#include "viz/session/viewing.h"
#include "viz/style/theme.h"
#include "viz/views/base/scrolled_page.h"

namespace ringscope::viz {

/// A view on the stage. A view that is shown makes its scene once per change of the data or of the
/// cursor. Painting draws the kept scene. The mouse and keys change the cursor.
class View : public ScrolledPage {
  Q_OBJECT
 public:
  View(Viewing& viewing, const QString& accessible_name, QWidget* parent = nullptr);
  void setTheme(const Theme& theme);
  /// Presenter mode draws everything larger; 1 is normal.
  void setZoom(double zoom);
  /// Changes between the recorded times and a model of ranks on own devices, in a view that has
  /// both.
  virtual void setOwnDevices(bool /*own*/) {}
  /// Gives the focus to the view's search field. Returns false when the view has none.
  virtual bool focusSearch() { return false; }
  /// Reports whether a background thread still makes something that the view will draw.
  virtual bool isMaking() const { return false; }
  /// Returns the size of the whole page in unzoomed pixels.
  QSizeF pageSize() const { return page().size(); }
  /// Draws the whole page of the kept scene without controls, for a file.
  void drawPage(QPainter& painter) { paintContent(painter, {}); }

 protected:
  /// Makes the scene and requests painting.
  virtual void refresh() = 0;
  /// Forgets the user's choices, because another recording has been opened.
  virtual void startOver() {}
  /// Draws the kept scene. Reads nothing else but the cursor's phase and the view's own state.
  /// `dirty` is the region to draw; an empty region means the whole page.
  virtual void paint(QPainter& painter, const QRectF& page, const QRegion& dirty) = 0;
  /// Returns the cursor with all fields reset that the scene does not depend on.
  virtual Cursor watched(Cursor cursor) const;
  /// Follows a move of the cursor that leaves the scene as it is.
  virtual void moved() {}
  /// Adapts the view's own controls to the theme or the zoom.
  virtual void themeChanged() {}

  /// Makes the scene anew if the data or the watched part of the cursor has changed.
  void follow();
  /// Calls refresh(). Shows an exception's sentence in place of the scene: the data may be damaged.
  void renew();
  /// Calls `make` in place of refresh(), and shows an exception in the same way.
  void guard(const std::function<void()>& make);
  const Cursor& cursor() const { return viewing_.navigator.cursor(); }
  /// Sets the sentence that a screen reader reads.
  void describe(const std::string& sentence);

  void paintEvent(QPaintEvent* event) final;
  void showEvent(QShowEvent* event) override;
  /// A frame shows the focus after Tab; a click needs none.
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

  Viewing& viewing_;
  const Theme* theme_ = &Theme::all().front();

 private:
  /// Draws the scene, or why there is none.
  void paintContent(QPainter& painter, const QRegion& dirty);

  struct Made {
    std::uint64_t version = 0;
    Cursor cursor;
    friend bool operator==(const Made&, const Made&) = default;
  };

  std::optional<Made> made_;  // the data and cursor of the kept scene
  int recording_ = 0;         // the recording that the user's choices belong to
  QString problem_;           // why there is no scene; empty when there is one
  bool shows_focus_ = false;
};

/// A view in the list of the window.
struct ViewEntry {
  QString name;   ///< the value of --view, lower case
  QString title;  ///< the title of the tab
  View* (*make)(Viewing& viewing, QWidget* parent);
  bool judges = false;  ///< reports verdicts by itself: closed during a quiz round
};

/// Returns all views in the order of their tabs. A new view is a folder with its scene, painter and
/// view, and a line in registry.cpp.
const std::vector<ViewEntry>& viewRegistry();

}  // namespace ringscope::viz

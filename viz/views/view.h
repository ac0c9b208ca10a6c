// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

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
    update();
  }

 protected:
  /// The viewed moment or the selection has changed.
  virtual void cursorMoved() { update(); }

  Hub& hub_;
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

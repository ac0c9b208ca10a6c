// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QPointer>
#include <QWidget>

namespace ringscope::viz {

/// Filters all events of the program by two rules, which hold for every widget.
/// (1) A box with a value (a spin box, a choice, a slider) takes the wheel only after a click into
///     it. Before that, the container of the box scrolls.
/// (2) In the main window, the transport keys (keys.h) pass a focused control by: Space never
///     presses a button, with or without modifiers. Text fields keep what they type. Enter presses
///     the focused button, changes the focused tick box, and opens the list of the focused choice.
class InputRules : public QObject {
 public:
  using QObject::QObject;

  /// Reports whether the widget has a value that a wheel would change.
  static bool isBox(const QWidget* widget);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  bool filterWheel(QWidget* widget, QEvent* event) const;

  QPointer<QWidget> clicked_;  // the box that was clicked last and has had the focus since
};

}  // namespace ringscope::viz

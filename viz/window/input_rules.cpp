// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/input_rules.h"

#include <QAbstractButton>
#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMainWindow>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QTextEdit>
#include <QToolButton>

#include "viz/views/base/view.h"
#include "viz/window/keys.h"

namespace ringscope::viz {
namespace {

/// The box that the widget is, or that the widget is a part of.
QWidget* boxAround(QWidget* widget) {
  while (widget && !InputRules::isBox(widget))
    widget = widget->isWindow() ? nullptr : widget->parentWidget();
  return widget;
}

/// Whether the key is a part of typing where the focus is.
bool isTyped(const QWidget* widget, const QKeyEvent& key) {
  if (const auto* line = qobject_cast<const QLineEdit*>(widget)) return !line->isReadOnly();
  if (const auto* text = qobject_cast<const QTextEdit*>(widget)) return !text->isReadOnly();
  if (const auto* text = qobject_cast<const QPlainTextEdit*>(widget)) return !text->isReadOnly();
  if (const auto* choice = qobject_cast<const QComboBox*>(widget)) return choice->isEditable();
  // A number has neither letters nor spaces.
  if (qobject_cast<const QAbstractSpinBox*>(widget))
    return key.key() != Qt::Key_Space && (key.key() < Qt::Key_A || key.key() > Qt::Key_Z);
  return false;
}

/// Presses what has the focus, as Space does in other programs.
bool press(QWidget* widget) {
  if (auto* choice = qobject_cast<QComboBox*>(widget)) {
    choice->showPopup();
    return true;
  }
  auto* button = qobject_cast<QAbstractButton*>(widget);
  if (!button) return false;
  auto* tool = qobject_cast<QToolButton*>(button);
  if (tool && tool->popupMode() == QToolButton::InstantPopup)
    tool->showMenu();
  else
    button->click();
  return true;
}

bool filterKey(QWidget* widget, QKeyEvent& key) {
  const bool has_own_keys = qobject_cast<View*>(widget) || widget->isWindow();
  if (has_own_keys || !qobject_cast<QMainWindow*>(widget->window()) || isTyped(widget, key))
    return false;
  // Space presses no button, whatever else is held: a run that goes on would be lost.
  if (isTransportKey(key) || key.key() == Qt::Key_Space) {
    key.ignore();  // so it goes on to the parent, and at last to the window
    return true;
  }
  const bool enters = key.key() == Qt::Key_Return || key.key() == Qt::Key_Enter;
  const bool plain = (key.modifiers() & ~Qt::KeypadModifier) == Qt::NoModifier;
  if (!enters || !plain || key.isAutoRepeat() || !widget->isEnabled()) return false;
  return key.type() == QEvent::KeyPress && press(widget);
}

}  // namespace

bool InputRules::isBox(const QWidget* widget) {
  if (qobject_cast<const QScrollBar*>(widget)) return false;
  return qobject_cast<const QAbstractSpinBox*>(widget) || qobject_cast<const QComboBox*>(widget) ||
         qobject_cast<const QAbstractSlider*>(widget);
}

bool InputRules::filterWheel(QWidget* widget, QEvent* event) const {
  if (!isBox(widget) || (widget == clicked_ && widget->hasFocus())) return false;
  event->ignore();  // so it goes on to what contains the box
  return true;
}

bool InputRules::eventFilter(QObject* watched, QEvent* event) {
  if (!watched->isWidgetType()) return false;
  auto* widget = static_cast<QWidget*>(watched);
  switch (event->type()) {
    case QEvent::Polish:
      if (isBox(widget) && widget->focusPolicy() == Qt::WheelFocus)
        widget->setFocusPolicy(Qt::StrongFocus);
      return false;
    case QEvent::MouseButtonPress:
    case QEvent::MouseButtonDblClick:
      clicked_ = boxAround(widget);
      return false;
    case QEvent::FocusIn:
      // The list of a choice has the focus for a moment and gives it back.
      if (widget != clicked_ && widget->window()->windowType() != Qt::Popup) clicked_ = nullptr;
      return false;
    case QEvent::Wheel:
      return filterWheel(widget, event);
    case QEvent::KeyPress:
    case QEvent::KeyRelease:
      return filterKey(widget, *static_cast<QKeyEvent*>(event));
    default:
      return false;
  }
}

}  // namespace ringscope::viz

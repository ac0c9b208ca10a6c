// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QKeyEvent>
#include <QLineEdit>

#include "viz/kit/plain_key.h"

namespace ringscope::viz {

/// A field for a few words that are carried out. Enter enters them, with Shift backwards. Esc
/// leaves the field, and the arrows move in a list that belongs to it.
class EntryField : public QLineEdit {
  Q_OBJECT
 public:
  using QLineEdit::QLineEdit;

 Q_SIGNALS:
  void entered(bool back);
  void left();
  /// Emitted for the arrows up and down: −1 or 1; Page Up and Page Down: −10 or 10.
  void moved(int rows);

 protected:
  /// Takes Esc from the window, which has a shortcut for it.
  bool event(QEvent* event) override {
    const bool escape = event->type() == QEvent::ShortcutOverride &&
                        plainKey(*static_cast<QKeyEvent*>(event)) == Qt::Key_Escape;
    if (!escape) return QLineEdit::event(event);
    event->accept();
    return true;
  }
  void keyPressEvent(QKeyEvent* event) override {
    constexpr int kPage = 10;
    switch (event->key()) {
      case Qt::Key_Escape:
        return Q_EMIT left();
      case Qt::Key_Return:
      case Qt::Key_Enter:
        return Q_EMIT entered(event->modifiers() & Qt::ShiftModifier);
      case Qt::Key_Up:
        return Q_EMIT moved(-1);
      case Qt::Key_Down:
        return Q_EMIT moved(1);
      case Qt::Key_PageUp:
        return Q_EMIT moved(-kPage);
      case Qt::Key_PageDown:
        return Q_EMIT moved(kPage);
      default:
        QLineEdit::keyPressEvent(event);
    }
  }
};

}  // namespace ringscope::viz

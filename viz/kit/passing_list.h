// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QKeyEvent>
#include <QSet>

namespace ringscope::viz {

/// A list or text (`Base`) that keeps the keys that move within it and passes on all others, which
/// mean something to its view or to the window: Space and letters among them, that lists search by.
template <typename Base>
class PassingList : public Base {
 public:
  using Base::Base;

 protected:
  void keyPressEvent(QKeyEvent* event) override {
    static const QSet<int> kOwn = {Qt::Key_Up,       Qt::Key_Down,  Qt::Key_PageUp,
                                   Qt::Key_PageDown, Qt::Key_Enter, Qt::Key_Return};
    if (kOwn.contains(event->key())) return Base::keyPressEvent(event);
    event->ignore();
  }
};

}  // namespace ringscope::viz

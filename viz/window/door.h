// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFrame>
#include <QVBoxLayout>

#include "viz/kit/card_picture.h"

namespace ringscope::viz {

/// A card of the start page: a picture over a title, a sentence and controls.
class Door : public QFrame {
  Q_OBJECT
 public:
  Door(const QString& title, const QString& sentence, QWidget* parent);

  /// Sets the view that the picture shows, and its name for screen readers.
  void setView(const QString& view, const QString& words);
  const QString& view() const { return view_; }
  void setPicture(const QImage& image);
  /// Returns the layout for controls under the sentence.
  QVBoxLayout* controls() const { return controls_; }

 private:
  QString view_;
  CardPicture* picture_;
  QVBoxLayout* controls_;
};

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/door.h"

#include <QLabel>

namespace ringscope::viz {
namespace {

constexpr int kMargin = 20, kLeastPicture = 150;

}  // namespace

Door::Door(const QString& title, const QString& sentence, QWidget* parent) : QFrame(parent) {
  setObjectName("door");
  setAccessibleName(title);
  setAccessibleDescription(sentence);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, kMargin);
  column->setSpacing(0);
  picture_ = new CardPicture(this);
  picture_->setMinimumHeight(kLeastPicture);
  picture_->setMaximumHeight(CardPicture::kHeight);
  picture_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  column->addWidget(picture_);
  auto* words = new QVBoxLayout;
  words->setContentsMargins(kMargin, 16, kMargin, 0);
  words->setSpacing(8);
  auto* name = new QLabel(title, this);
  name->setObjectName("title");
  auto* about = new QLabel(sentence, this);
  about->setObjectName("dim");
  about->setWordWrap(true);
  about->setMinimumHeight(2 * about->fontMetrics().lineSpacing() + 4);
  about->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  words->addWidget(name);
  words->addWidget(about);
  words->addSpacing(4);
  controls_ = new QVBoxLayout;
  controls_->setSpacing(8);
  words->addLayout(controls_);
  column->addLayout(words);
  column->addStretch(1);
}

void Door::setView(const QString& view, const QString& words) {
  view_ = view;
  picture_->setAccessibleName(words);
}

void Door::setPicture(const QImage& image) {
  picture_->setImage(image);
}

}  // namespace ringscope::viz

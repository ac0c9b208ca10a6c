// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStringList>
#include <QStyleOptionToolButton>
#include <QToolButton>

namespace ringscope::viz {

/// A button whose words change and whose width does not: it is as wide as its longest words.
class SteadyButton : public QToolButton {
 public:
  using QToolButton::QToolButton;

  void setAllTexts(const QStringList& texts) {
    texts_ = texts;
    updateGeometry();
  }
  QSize sizeHint() const override {
    if (texts_.isEmpty()) return QToolButton::sizeHint();
    QStyleOptionToolButton option;
    initStyleOption(&option);
    QSize hint;
    for (const QString& text : texts_) {
      option.text = text;
      const QSize words(fontMetrics().horizontalAdvance(text + "  "), fontMetrics().height());
      hint =
          hint.expandedTo(style()->sizeFromContents(QStyle::CT_ToolButton, &option, words, this));
    }
    return hint;
  }
  QSize minimumSizeHint() const override { return sizeHint(); }

 private:
  QStringList texts_;
};

}  // namespace ringscope::viz

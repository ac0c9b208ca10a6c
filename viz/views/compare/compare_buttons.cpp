// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/compare/compare_buttons.h"

namespace ringscope::viz {

CompareButtons::CompareButtons(QWidget* parent)
    : open_(new QPushButton(parent)),
      close_(new QPushButton(parent)),
      beside_(new QPushButton("Beside", parent)) {
  open_->setToolTip("Another recording of the same model and data, of any mesh");
  close_->setToolTip("Compare no more");
  beside_->setToolTip("Show both in every view, at the same place (Esc ends it)");
}

void CompareButtons::place(const Comparison& of, const CompareCards& cards, const QSizeF& view,
                           double zoom) {
  const bool none = of.state() == Comparison::State::kNone, has_cards = of.runs() != nullptr;
  const bool busy = of.state() == Comparison::State::kComparing;
  open_->setText(has_cards ? "Open …" : "Open a second recording …");
  close_->setText(busy ? "Cancel" : "Close");
  constexpr double kHigh = kCardButtonHigh, kWide = 216, kNarrow = kCardButton;
  constexpr double kGap = kCardButtonGap;
  const double top = view.height() / 2 + 20,
               left = (view.width() - (none ? kWide : kWide + kGap + kNarrow)) / 2;
  QRectF open(left, top, kWide, kHigh), close(left + kWide + kGap, top, kNarrow, kHigh), beside;
  if (busy) close = QRectF((view.width() - kNarrow) / 2, top, kNarrow, kHigh);
  bool has_three = false;
  if (has_cards) {
    has_three = cards.buttonCount() >= 3;
    close = QRectF(cards.buttons.right() - kNarrow, cards.buttons.top(), kNarrow, kHigh);
    open = close.translated(-kNarrow - kGap, 0);
    beside = open.translated(-kNarrow - kGap, 0);
  }
  const auto put = [zoom](QPushButton* button, const QRectF& box, bool visible) {
    button->setGeometry(QRectF(box.topLeft() * zoom, box.size() * zoom).toRect());
    button->setVisible(visible);
  };
  put(open_, open, !busy);
  put(close_, close, !none);
  put(beside_, beside, has_three && !of.before());
}

}  // namespace ringscope::viz

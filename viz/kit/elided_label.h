// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>

namespace ringscope::viz {

/// Plain text that asks for no more width than there is. A line that is too long ends in "…", and
/// so does the last line when there are more than may be shown. The tooltip then has the whole
/// text.
class ElidedLabel : public QLabel {
 public:
  explicit ElidedLabel(QWidget* parent = nullptr);

  /// At least 1, which it is without this.
  void setMostLines(int lines);
  /// Something of the text is not shown.
  bool isElided() const { return shownLines() != lines(); }
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  QStringList lines() const { return text().split('\n'); }
  QStringList shownLines() const;

  int most_lines_ = 1;
};

}  // namespace ringscope::viz

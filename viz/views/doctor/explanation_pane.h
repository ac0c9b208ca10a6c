// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPushButton>
#include <QTextBrowser>

#include "viz/views/doctor/explanation_document.h"

namespace ringscope::viz {

/// The explanation of a finding, to be scrolled by wheel and keys, with buttons that save it as a
/// page and copy the finding.
class ExplanationPane : public QWidget {
  Q_OBJECT
 public:
  explicit ExplanationPane(QWidget* parent = nullptr);

  void show(const traces::Explanation& explanation, const ExplanationPicture& picture);
  void setLook(const Theme& theme, double zoom);

 Q_SIGNALS:
  void saveClicked();
  void copyClicked();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void fill();

  QLabel* title_;
  QPushButton *save_, *copy_;
  QTextBrowser* text_;
  traces::Explanation explanation_;
  ExplanationPicture picture_;
  const Theme* theme_ = &Theme::all().front();
  double zoom_ = 1;
};

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/doctor/explanation_pane.h"

#include <QScrollBar>
#include <algorithm>

#include "viz/kit/passing_list.h"

namespace ringscope::viz {
namespace {

constexpr int kPaneHead = 29, kPaneGap = 8;

}  // namespace

ExplanationPane::ExplanationPane(QWidget* parent) : QWidget(parent) {
  title_ = new QLabel(this);
  title_->setObjectName("title");
  title_->setTextFormat(Qt::PlainText);
  save_ = new QPushButton("Save as PDF …", this);
  save_->setToolTip("One page with this explanation and the picture, to be printed");
  copy_ = new QPushButton("Copy finding", this);
  copy_->setToolTip("Copy evidence, remedy and commands as Markdown text (Ctrl+C in the list)");
  text_ = new PassingList<QTextBrowser>(this);
  text_->setObjectName("explanation");
  text_->setAccessibleName("Explanation of the finding");
  text_->setOpenExternalLinks(true);
  text_->setUndoRedoEnabled(false);
  text_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  connect(save_, &QPushButton::clicked, this, &ExplanationPane::saveClicked);
  connect(copy_, &QPushButton::clicked, this, &ExplanationPane::copyClicked);
  setTabOrder(copy_, save_);
  setTabOrder(save_, text_);
}

void ExplanationPane::show(const traces::Explanation& explanation,
                           const ExplanationPicture& picture) {
  explanation_ = explanation;
  picture_ = picture;
  title_->setText(QString::fromStdString(explanation.title));
  fill();
  text_->verticalScrollBar()->setValue(0);
}

void ExplanationPane::setLook(const Theme& theme, double zoom) {
  theme_ = &theme;
  zoom_ = zoom;
  resizeEvent(nullptr);
}

void ExplanationPane::resizeEvent(QResizeEvent*) {
  const int head = static_cast<int>(kPaneHead * zoom_), gap = static_cast<int>(kPaneGap * zoom_);
  const int wide = save_->sizeHint().width();
  save_->setGeometry(width() - wide, 0, wide, head);
  const int copy_wide = copy_->sizeHint().width(), copy_left = width() - wide - gap - copy_wide;
  copy_->setGeometry(copy_left, 0, copy_wide, head);
  title_->setGeometry(0, 0, std::max(0, copy_left - gap), head);
  text_->setGeometry(0, head + gap, width(), height() - head - gap);
  fill();
}

void ExplanationPane::fill() {
  if (explanation_.title.empty()) return;
  const int at = text_->verticalScrollBar()->value();
  const double room = text_->width() - 40 * zoom_;
  fillExplanation(*text_->document(), explanation_, picture_,
                  {.width = room, .zoom = zoom_, .has_title = false}, *theme_);
  text_->document()->setDocumentMargin(12 * zoom_);
  text_->verticalScrollBar()->setValue(at);
}

}  // namespace ringscope::viz

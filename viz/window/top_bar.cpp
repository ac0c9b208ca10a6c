// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/top_bar.h"

#include <QHBoxLayout>
#include <QLabel>

namespace ringscope::viz {

TopBar::TopBar(RunFolder& runs, QWidget* parent) : QWidget(parent) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  setFixedHeight(44);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(20, 0, 20, 0);
  row->setSpacing(16);
  auto* name = new QLabel("RingScope", this);
  name->setObjectName("title");
  headline_ = new ElidedLabel(this);
  headline_->setObjectName("dim");
  row->addWidget(name);
  row->addWidget(headline_, 1);
  const auto button = [this](const QString& words, int width, const QString& tip) {
    auto* made = new QToolButton(this);
    made->setText(words);
    made->setMinimumWidth(width);
    made->setToolTip(tip);
    return made;
  };
  auto* open = button("Open …", 72, "Open a recording (Ctrl+O), or drop one on the window");
  connect(open, &QToolButton::clicked, this, &TopBar::openClicked);
  export_ = new ExportButton(this);
  auto* theme = button("Theme", 64, "Dark, light, high contrast (Ctrl+T)");
  connect(theme, &QToolButton::clicked, this, &TopBar::themeClicked);
  runs_ = new RunsButton(runs, this);
  for (QToolButton* each :
       {open, static_cast<QToolButton*>(runs_), static_cast<QToolButton*>(export_), theme})
    row->addWidget(each);
}

}  // namespace ringscope::viz

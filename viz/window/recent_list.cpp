// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/recent_list.h"

#include <QHBoxLayout>
#include <QLabel>

#include "viz/kit/line_button.h"

namespace ringscope::viz {
RecentList::RecentList(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Recent recordings"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(4);
  auto* head = new QHBoxLayout;
  auto* title = new QLabel(tr("RECENT"), this);
  title->setObjectName("section");
  auto* all = new QToolButton(this);
  all->setObjectName("compact");
  all->setText(tr("All runs and recordings"));
  all->setToolTip(tr("All runs and recordings, with a search (Ctrl+H)"));
  all->setMinimumSize(156, 24);
  head->addWidget(title);
  head->addStretch(1);
  head->addWidget(all);
  column->addLayout(head);
  lines_ = new QVBoxLayout;
  lines_->setSpacing(0);
  column->addLayout(lines_);
  connect(all, &QToolButton::clicked, this, &RecentList::allRequested);
  hide();
}

void RecentList::setRecordings(const std::vector<RecentRecording>& recordings, std::size_t most) {
  std::vector<RecentRecording> shown(
      recordings.begin(),
      recordings.begin() + static_cast<std::ptrdiff_t>(std::min(most, recordings.size())));
  if (shown == shown_) return;
  shown_ = std::move(shown);
  while (QLayoutItem* item = lines_->takeAt(0)) {
    item->widget()->hide();
    item->widget()->deleteLater();
    delete item;
  }
  for (const RecentRecording& recording : shown_) {
    auto* line = new LineButton(recording.name, recording.state, recording.time, this);
    line->setToolTip(recording.path);
    connect(line, &QAbstractButton::clicked, this,
            [this, path = recording.path] { Q_EMIT chosen(path); });
    lines_->addWidget(line);
    line->show();  // at once, so that the list does not blink when it is read again
  }
  setVisible(!shown_.empty());
}

}  // namespace ringscope::viz

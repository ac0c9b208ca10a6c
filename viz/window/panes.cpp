// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/panes.h"

#include <QEvent>
#include <QVBoxLayout>

namespace ringscope::viz {
namespace {

constexpr int kLeftWidth = 250, kRightWidth = 320, kMostWidth = 640;
constexpr int kLeastStage = 330, kLeastTimeline = 70;
/// Splits the height that the controls leave: four parts for the stage and one for the timeline, or
/// up to a third when its lanes need that.
constexpr int kTimelineShare = 5, kMostTimelineShare = 3;

}  // namespace

Panes::Panes(const Parts& parts, QWidget* parent) : QSplitter(Qt::Vertical, parent), parts_(parts) {
  columns_ = new QSplitter(Qt::Horizontal, this);
  parts.left->setMinimumWidth(kLeftWidth);
  parts.right->setMinimumWidth(kRightWidth);
  for (QWidget* side : {parts.left, parts.right}) side->setMaximumWidth(kMostWidth);
  parts.stage->setMinimumWidth(kLeastStage);
  for (QWidget* column : {parts.left, parts.stage, parts.right}) columns_->addWidget(column);
  lower_ = new QWidget(this);
  auto* rows = new QVBoxLayout(lower_);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(0);
  rows->addWidget(parts.controls);
  rows->addWidget(parts.timeline, 1);
  parts.timeline->setMinimumHeight(kLeastTimeline);
  addWidget(columns_);
  addWidget(lower_);
  columns_->setStretchFactor(1, 1);
  for (QSplitter* splitter : {static_cast<QSplitter*>(this), columns_}) {
    splitter->setHandleWidth(1);
    splitter->setChildrenCollapsible(false);
    followHandles(*splitter);
  }
}

void Panes::followHandles(QSplitter& splitter) {
  for (int i = 1; i < splitter.count(); ++i) splitter.handle(i)->installEventFilter(this);
  connect(&splitter, &QSplitter::splitterMoved, this, [this] { moved_ = true; });
}

bool Panes::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::MouseButtonDblClick) return QSplitter::eventFilter(watched, event);
  reset();
  return true;
}

void Panes::reset() {
  moved_ = false;
  const int left = parts_.left->isHidden() ? 0 : kLeftWidth;
  const int right = parts_.right->isHidden() ? 0 : kRightWidth;
  columns_->setSizes({left, columns_->width() - left - right, right});
  const int controls = parts_.controls->sizeHint().height();
  const int room = height() - controls;
  const int needed = std::min(parts_.timeline->sizeHint().height(), room / kMostTimelineShare);
  const int timeline = parts_.timeline->isHidden() ? 0 : std::max(room / kTimelineShare, needed);
  setSizes({height() - controls - timeline, controls + timeline});
}

void Panes::showTimeline(bool shown) {
  if (shown != parts_.timeline->isHidden()) return;
  if (!shown) rows_with_timeline_ = sizes();
  parts_.timeline->setVisible(shown);
  lower_->setMaximumHeight(shown ? QWIDGETSIZE_MAX : parts_.controls->sizeHint().height());
  if (shown && moved_) setSizes(rows_with_timeline_);
  partsChanged();
}

void Panes::resizeEvent(QResizeEvent* event) {
  QSplitter::resizeEvent(event);
  if (!moved_) reset();
}

void Panes::save(QSettings& settings) const {
  settings.setValue("panes/moved", moved_);
  settings.setValue("panes/rows", saveState());
  settings.setValue("panes/columns", columns_->saveState());
}

void Panes::restore(const QSettings& settings) {
  moved_ = settings.value("panes/moved", false).toBool() &&
           restoreState(settings.value("panes/rows").toByteArray()) &&
           columns_->restoreState(settings.value("panes/columns").toByteArray());
}

}  // namespace ringscope::viz

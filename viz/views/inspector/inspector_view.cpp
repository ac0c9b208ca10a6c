// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/inspector/inspector_view.h"

#include <cmath>

#include "viz/views/inspector/inspector_painter.h"

namespace ringscope::viz {

Inspector::Inspector(Viewing& viewing, QWidget* parent)
    : View(viewing, "Inspector of the selected rank", parent) {
  setMinimumSize(0, 0);
  setAttribute(Qt::WA_OpaquePaintEvent);
  late_.setSingleShot(true);
  late_.setInterval(40);
  connect(&late_, &QTimer::timeout, this, [this] { guard([this] { make(); }); });
}

Cursor Inspector::watched(Cursor cursor) const {
  cursor.phase = 0;
  cursor.tensor.clear();
  return cursor;
}

void Inspector::refresh() {
  if (!scene_ || !viewing_.player.playing()) return make();
  if (!late_.isActive()) late_.start();  // a wait begun anew each time would never end
}

/// Returns the memory of the rank over time. For a growing trace the series is made at most twice a
/// second, because it reads all samples of the rank.
std::shared_ptr<const MemorySeries> Inspector::memory() {
  constexpr std::size_t kColumns = 280;
  const Session& session = viewing_.session;
  Cursor of;
  of.group = cursor().group;
  of.rank = cursor().rank;
  const bool same = memory_ && memory_of_ == of && memory_generation_ == session.generation();
  const bool fresh = memory_version_ == session.version() ||
                     (session.live() && since_memory_.isValid() && since_memory_.elapsed() < 500);
  if (same && fresh) return memory_;
  memory_of_ = of;
  memory_version_ = session.version();
  memory_generation_ = session.generation();
  since_memory_.start();
  memory_ = std::make_shared<const MemorySeries>(
      session.trace().worldSize() > of.rank.value()
          ? memorySeries(session.trace(), of.rank, kColumns, session.pauses(of.rank))
          : MemorySeries());
  return memory_;
}

void Inspector::make() {
  const Session& session = viewing_.session;
  scene_.reset();
  const auto ring = session.ring(cursor());
  scene_ =
      makeInspectorScene(session.trace(), cursor(),
                         {*ring, session.worst(), session.diagnosis(), memory(), session.live()});
  instant_ns_ = instantAt(*ring, cursor().phase);
  describe(scene_->note.empty() ? scene_->title + ": " + scene_->attending : scene_->note);
  update();
}

void Inspector::paint(QPainter& painter, const QRectF& page, const QRegion&) {
  if (!scene_) return;
  const double needed = paintInspector(painter, page, *scene_, instant_ns_, *theme_) * zoom_;
  const int height = static_cast<int>(std::ceil(needed));
  // Words wrap, so that drawing tells; the layout changes after it.
  if (minimumHeight() != height)
    QMetaObject::invokeMethod(
        this, [this, height] { setMinimumHeight(height); }, Qt::QueuedConnection);
}

}  // namespace ringscope::viz

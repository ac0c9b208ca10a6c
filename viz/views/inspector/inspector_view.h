// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QTimer>

#include "viz/views/base/view.h"
#include "viz/views/inspector/inspector_scene.h"

namespace ringscope::viz {

/// Shows the facts about the selected rank at the viewed moment.
class Inspector : public View {
  Q_OBJECT
 public:
  explicit Inspector(Viewing& viewing, QWidget* parent = nullptr);
  QSize sizeHint() const override { return {320, 640}; }

 protected:
  /// While the ring plays, a little later than the stage: two large pictures in one frame would be
  /// one too many.
  void refresh() override;
  void paint(QPainter& painter, const QRectF& page, const QRegion& dirty) override;
  Cursor watched(Cursor cursor) const override;

 private:
  void make();
  std::shared_ptr<const MemorySeries> memory();

  std::optional<InspectorScene> scene_;
  std::int64_t instant_ns_ = 0;
  std::shared_ptr<const MemorySeries> memory_;
  Cursor memory_of_;                  // its group and rank
  std::uint64_t memory_version_ = 0;  // of the data that it was made from
  int memory_generation_ = 0;
  QElapsedTimer since_memory_;
  QTimer late_;
};

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QTimer>
#include <optional>

#include "viz/scene/memory_series.h"
#include "viz/views/view.h"

namespace ringscope::viz {

/// What is known of the selected rank at the viewed moment: log-sum-exp by block, memory, and what
/// the diff and the doctor say of the run.
class Inspector : public View {
  Q_OBJECT
 public:
  explicit Inspector(Hub& hub, QWidget* parent = nullptr);
  QSize sizeHint() const override { return {320, 640}; }

 protected:
  void paintEvent(QPaintEvent*) override;
  /// Drawn again once a ring step, a little later than the stage: two large pictures in one frame
  /// would be one too many.
  void cursorMoved() override;

 private:
  class Page;
  void drawRank(Page& page) const;
  bool attended(const Place& place, int rank) const;
  void drawLse(Page& page) const;
  void drawMemory(Page& page);
  void drawDiff(Page& page) const;
  void drawDoctor(Page& page) const;

  std::optional<MemorySeries> memory_;
  int memory_rank_ = -1;
  bool memory_stale_ = false;  // the trace has grown; drawn again at most twice a second
  QElapsedTimer since_memory_;
  std::pair<int, int> shown_{-1, -1};  // moment and rank of the last picture
  QTimer late_;
};

}  // namespace ringscope::viz

// SPDX-License-Identifier: GPL-3.0-or-later
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QPainter>
#include <cmath>

#include "viz/scene/merge_history.h"
#include "viz/style/face.h"
#include "viz/views/view.h"

namespace ringscope::viz {
namespace {

/// How one output row came together: each block's log-sum-exp, its weight, the running result, and
/// what a plain sum would have given. ↑ ↓ choose the query, Page Up and Page Down the head.
class MergeView : public View {
 public:
  MergeView(Hub& hub, QWidget* parent) : View(hub, parent) {
    setAccessibleName("Merge: how one output row came together, block by block");
    setMinimumSize(320, 240);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter p;
    begin(p);
    p.fillRect(page(), theme_->background);
    if (hub_.empty()) return;
    clampRow();
    const MergeHistory history =
        mergeHistory(hub_.trace(), hub_.index(), hub_.place(), hub_.selectedRank(), head_, query_);
    drawHead(p);
    if (!history.missing.empty())
      return note(p, page().adjusted(0, 60, 0, 0),
                  "Not recorded; " + QString::fromStdString(history.missing) + " would show it.");
    double y = 84;
    drawColumns(p, y);
    for (const MergeStep& step : history.steps) drawStep(p, step, y += rowHeight());
    drawResult(p, history, y + rowHeight() + 22);
  }

  void keyPressEvent(QKeyEvent* event) override {
    switch (event->key()) {
      case Qt::Key_Up:
        --query_;
        break;
      case Qt::Key_Down:
        ++query_;
        break;
      case Qt::Key_PageUp:
        --head_;
        break;
      case Qt::Key_PageDown:
        ++head_;
        break;
      default:
        return View::keyPressEvent(event);
    }
    update();
  }

 private:
  double rowHeight() const {
    return std::clamp((pageHeight() - 300.0) / std::max(1, hub_.scene().ring_steps), 22.0, 44.0);
  }

  void clampRow() {
    Place pass = hub_.place();
    pass.direction = traces::Direction::kForward;
    pass.stage = -1;
    const auto* lse = hub_.trace().findTensor("lse", pass, hub_.selectedRank());
    if (!lse || lse->shape.size() != 3) return;
    head_ = std::clamp<std::int64_t>(head_, 0, lse->shape[1] - 1);
    query_ =
        std::clamp<std::int64_t>(query_ < 0 ? lse->shape[2] - 1 : query_, 0, lse->shape[2] - 1);
  }

  std::int64_t globalIndex() const {
    const auto* shard =
        hub_.trace().findShard("input_ids", hub_.place().train_step, hub_.selectedRank());
    std::int64_t local = query_;
    if (shard)
      for (const auto& run : shard->global_from_local) {
        if (local < run.end - run.begin) return run.begin + local;
        local -= run.end - run.begin;
      }
    return query_;
  }

  void drawHead(QPainter& p) const {
    p.setPen(theme_->text);
    p.setFont(textFont(17, QFont::DemiBold));
    p.drawText(QRectF(24, 12, pageWidth() - 48, 26), Qt::AlignVCenter,
               QString("rank %1 · layer %2 · head %3 · query %4, token %5 of the sequence")
                   .arg(hub_.selectedRank())
                   .arg(hub_.place().layer)
                   .arg(head_)
                   .arg(query_)
                   .arg(globalIndex()));
    p.setPen(theme_->dim);
    p.setFont(textFont(12));
    p.drawText(QRectF(24, 38, pageWidth() - 48, 20), Qt::AlignVCenter,
               "↑ ↓ another query · Page Up, Page Down another head · 1–8 another rank");
  }

  QRectF column(int i, double y) const {
    static constexpr double kShares[] = {0, 0.10, 0.21, 0.34, 0.47, 0.78, 0.89, 1};
    const double w = pageWidth() - 48;
    return {24 + w * kShares[i], y, w * (kShares[i + 1] - kShares[i]) - 8, rowHeight() - 6};
  }

  void drawColumns(QPainter& p, double y) const {
    static const char* const kNames[] = {
        "ring step", "block",        "block lse", "running lse", "weight in the result",
        "",          "out[0] so far"};
    p.setFont(textFont(11, QFont::DemiBold));
    p.setPen(theme_->dim);
    for (int i = 0; i < 7; ++i)
      p.drawText(column(i, y),
                 Qt::AlignVCenter | (i < 2 || i == 4 ? Qt::AlignLeft : Qt::AlignRight), kNames[i]);
  }

  void drawStep(QPainter& p, const MergeStep& step, double y) const {
    const bool now = step.ring_step == hub_.place().stage &&
                     hub_.place().direction == traces::Direction::kForward;
    if (now) {
      p.setPen(Qt::NoPen);
      p.setBrush(theme_->panel);
      p.drawRoundedRect(QRectF(16, y - 3, pageWidth() - 32, rowHeight()), 6, 6);
    }
    auto number = [&](int c, double value, const QColor& color) {
      p.setFont(monoFont(13));
      p.setPen(color);
      p.drawText(column(c, y), Qt::AlignVCenter | Qt::AlignRight, QString::number(value, 'f', 4));
    };
    p.setFont(monoFont(13));
    p.setPen(now ? theme_->text : theme_->dim);
    p.drawText(column(0, y), Qt::AlignVCenter, QString::number(step.ring_step));
    const QRectF face = column(1, y);
    if (step.source_rank >= 0)
      paintFace(p,
                QRectF(face.left(), face.top() + 2, std::min(76.0, face.width()),
                       std::min(28.0, face.height() - 4)),
                step.source_rank, QString("KV %1").arg(step.source_rank), *theme_);
    if (!step.attended) {
      p.setFont(textFont(12));
      p.setPen(theme_->dim);
      p.drawText(column(4, y), Qt::AlignVCenter, "nothing of it for this row: all in its future");
      return;
    }
    number(2, step.block_lse, theme_->text);
    number(3, step.running_lse, theme_->text);
    const QRectF bar = column(4, y).adjusted(0, 4, 0, -4);
    p.setPen(Qt::NoPen);
    p.setBrush(theme_->raised);
    p.drawRoundedRect(bar, 3, 3);
    p.setBrushOrigin(bar.topLeft());
    p.setBrush(rankBrush(step.source_rank));
    p.drawRoundedRect(QRectF(bar.left(), bar.top(),
                             std::max(2.0, bar.width() * std::min(1.0, step.weight)), bar.height()),
                      3, 3);
    p.setFont(monoFont(13));
    p.setPen(theme_->text);
    p.drawText(column(5, y), Qt::AlignVCenter | Qt::AlignRight,
               QString("%1 %").arg(step.weight * 100, 0, 'f', 2));
    number(6, step.running_out, theme_->text);
  }

  void drawResult(QPainter& p, const MergeHistory& h, double y) const {
    auto line = [&](const QString& name, double value, double error, bool judged) {
      p.setFont(textFont(13));
      p.setPen(theme_->text);
      p.drawText(QRectF(24, y, pageWidth() * 0.5, 24), Qt::AlignVCenter, name);
      p.setFont(monoFont(13));
      p.drawText(QRectF(pageWidth() * 0.5, y, 120, 24), Qt::AlignVCenter | Qt::AlignRight,
                 QString::number(value, 'f', 6));
      if (judged) {
        const bool equal = error < 1e-4;
        p.setFont(textFont(13));
        p.setPen(equal ? theme_->right : theme_->wrong);
        p.drawText(QRectF(pageWidth() * 0.5 + 132, y, pageWidth() * 0.5 - 156, 24),
                   Qt::AlignVCenter,
                   equal ? "✓ equals what was recorded"
                         : QString("≠ off by up to %1").arg(error, 0, 'g', 2));
      }
      y += 26;
    };
    p.setPen(QPen(theme_->line, 1));
    p.drawLine(QPointF(24, y - 10), QPointF(pageWidth() - 24, y - 10));
    line("recorded out[0]", h.out, 0, false);
    line("blocks merged by their weights", h.merged, h.largest_error_merged, true);
    line("blocks simply added", h.naive, h.largest_error_naive, true);
    double weights = 0;
    for (const MergeStep& step : h.steps) weights += step.weight;
    p.setFont(textFont(13));
    p.setPen(theme_->dim);
    p.drawText(QRectF(24, y + 2, pageWidth() - 48, 48), Qt::TextWordWrap,
               QString("Each block's out is an average by itself. Weighted by exp(block lse − lse) "
                       "they add up to %1 %; simply added, every block would count in full.")
                   .arg(weights * 100, 0, 'f', 2));
  }

  std::int64_t head_ = 0;
  std::int64_t query_ = -1;  ///< -1: the last one, which has seen the most blocks
};

}  // namespace

View* makeMergeView(Hub& hub, QWidget* parent) {
  return new MergeView(hub, parent);
}

}  // namespace ringscope::viz

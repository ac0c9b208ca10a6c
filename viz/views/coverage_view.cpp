// SPDX-License-Identifier: GPL-3.0-or-later
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include "viz/scene/coverage_scene.h"
#include "viz/style/face.h"
#include "viz/views/view.h"

namespace ringscope::viz {
namespace {

/// The matrix of query chunks and key chunks filling as ring steps pass, and each rank's work
/// beside it.
class CoverageView : public View {
 public:
  CoverageView(Hub& hub, QWidget* parent) : View(hub, parent) {
    setAccessibleName(
        "Coverage: which query chunk has attended which key chunk, and each rank's work");
    setMinimumSize(320, 240);
    connect(&hub, &Hub::traceChanged, this, [this] { moment_ = -1; });
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter;
    begin(painter);
    painter.fillRect(page(), theme_->background);
    refresh();
    if (scene_.chunks == 0) {
      painter.setPen(theme_->dim);
      painter.setFont(textFont(15));
      painter.drawText(page(), Qt::AlignCenter,
                       "No shards are recorded; --capture stats would show them.");
      return;
    }
    drawHead(painter);
    for (int q = 0; q < scene_.chunks; ++q)
      for (int k = 0; k < scene_.chunks; ++k) drawCell(painter, cellRect(q, k), scene_.at(q, k));
    drawAxes(painter);
    drawWork(painter);
  }

  bool event(QEvent* event) override {
    if (event->type() == QEvent::ToolTip && scene_.chunks > 0) {
      const auto* help = static_cast<QHelpEvent*>(event);
      QToolTip::showText(help->globalPos(), describe(help->pos()), this);
      return true;
    }
    return View::event(event);
  }

 private:
  void refresh() {
    if (moment_ == hub_.moment()) return;
    moment_ = hub_.moment();
    scene_ =
        hub_.empty() ? CoverageScene() : coverageScene(hub_.trace(), hub_.index(), hub_.place());
    setAccessibleDescription(verdict());
  }

  QRectF matrix() const {
    const double side = std::min(pageWidth() * 0.62 - 110, pageHeight() - 130.0);
    return {84, 84, side, side};
  }
  QRectF cellRect(int q, int k) const {
    const double pitch = matrix().width() / scene_.chunks, gap = std::min(3.0, pitch * 0.12);
    return {matrix().left() + k * pitch, matrix().top() + q * pitch, pitch - gap, pitch - gap};
  }

  QString verdict() const {
    QStringList faults;
    if (scene_.doubled) faults << QString("%1 attended twice").arg(scene_.doubled);
    if (scene_.missing) faults << QString("%1 never attended").arg(scene_.missing);
    if (scene_.unwanted) faults << QString("%1 outside the mask").arg(scene_.unwanted);
    if (!faults.isEmpty()) return "▲ " + faults.join(", ");
    if (scene_.unknown)
      return QString(
                 "nothing twice; %1 pairs were not attended, and where documents lie is not "
                 "recorded: --capture values:steps=%2 would show whether they should")
          .arg(scene_.unknown)
          .arg(hub_.place().train_step);
    return scene_.complete ? "✓ every pair of the mask attended exactly once"
                           : "filling; nothing twice so far";
  }

  QString describe(QPoint at) const {
    for (int q = 0; q < scene_.chunks; ++q)
      for (int k = 0; k < scene_.chunks; ++k) {
        if (!cellRect(q, k).contains(at)) continue;
        const PairCell& cell = scene_.at(q, k);
        const QString pair = QString("query chunk %1 × key chunk %2: ").arg(q).arg(k);
        if (cell.attended == 0)
          return pair + (cell.wanted == Wanted::kNo ? "masked" : "not attended yet");
        return pair + QString("attended by rank %1 at ring step %2%3")
                          .arg(cell.rank)
                          .arg(cell.ring_step)
                          .arg(cell.attended > 1 ? QString(", %1 times").arg(cell.attended) : "");
      }
    return {};
  }

  void drawHead(QPainter& p) const {
    p.setPen(theme_->text);
    p.setFont(textFont(15, QFont::DemiBold));
    p.drawText(QRectF(24, 12, pageWidth() - 48, 24), Qt::AlignVCenter,
               "Who attended what, and when");
    const bool fault = scene_.doubled + scene_.missing + scene_.unwanted > 0;
    p.setPen(fault ? theme_->wrong : scene_.complete ? theme_->right : theme_->dim);
    p.setFont(textFont(13, QFont::Medium));
    p.drawText(QRectF(24, 34, pageWidth() - 48, 22), Qt::AlignVCenter, verdict());
  }

  void drawCell(QPainter& p, const QRectF& box, const PairCell& cell) const {
    p.setPen(Qt::NoPen);
    p.setBrush(cell.wanted == Wanted::kNo ? theme_->background : theme_->raised);
    p.drawRect(box);
    if (cell.attended > 0) {
      p.setBrushOrigin(box.topLeft());
      p.setBrush(rankBrush(cell.rank));
      if (cell.diagonal)
        p.drawPolygon(QPolygonF{box.topLeft(), box.bottomLeft(), box.bottomRight()});
      else
        p.drawRect(box);
      if (box.width() > 26 && !cell.diagonal) {
        const QRectF plate(box.center().x() - 9, box.center().y() - 8, 18, 16);
        p.setBrush(theme_->plate);
        p.drawRoundedRect(plate, 3, 3);
        p.setPen(theme_->on_plate);
        p.setFont(monoFont(11, QFont::Bold));
        p.drawText(plate, Qt::AlignCenter, QString::number(cell.ring_step));
      }
    }
    const bool fault = cell.attended > 1 || (cell.attended > 0 && cell.wanted == Wanted::kNo) ||
                       (scene_.complete && cell.wanted == Wanted::kYes && cell.attended == 0);
    p.setBrush(Qt::NoBrush);
    if (fault) {
      p.setPen(QPen(theme_->wrong, 2));
      p.drawRect(box.adjusted(1, 1, -1, -1));
      p.drawLine(box.topLeft(), box.bottomRight());
    } else if (cell.now) {
      p.setPen(QPen(theme_->text, 2));
      p.drawRect(box.adjusted(1, 1, -1, -1));
    }
  }

  void drawAxes(QPainter& p) const {
    p.setFont(monoFont(11));
    p.setPen(theme_->dim);
    const QRectF m = matrix();
    for (int i = 0; i < scene_.chunks; ++i) {
      if (cellRect(0, 0).width() < 14 && i % 4) continue;
      const QRectF q = cellRect(i, 0), k = cellRect(0, i);
      p.drawText(QRectF(m.left() - 40, q.top(), 32, q.height()), Qt::AlignVCenter | Qt::AlignRight,
                 QString::number(i));
      p.drawText(QRectF(k.left(), m.top() - 20, k.width(), 16), Qt::AlignCenter,
                 QString::number(i));
    }
    p.setFont(textFont(12));
    p.drawText(QRectF(m.left(), m.bottom() + 6, pageWidth() - m.left() - 24, 18), Qt::AlignVCenter,
               "key chunks across, query chunks down; the number is the ring step");
  }

  void drawWork(QPainter& p) const {
    const double left = matrix().right() + 56, right = pageWidth() - 24.0;
    if (right - left < 120) return;
    p.setPen(theme_->dim);
    p.setFont(textFont(11, QFont::DemiBold));
    p.drawText(QRectF(left, 70, right - left, 16), Qt::AlignVCenter, "WORK IN CHUNK PAIRS");
    p.drawText(QRectF(left, 70, right - left, 16), Qt::AlignVCenter | Qt::AlignRight, "WAITS");
    const auto ranks = static_cast<int>(scene_.work_total.size());
    const double pitch = std::clamp((pageHeight() - 210.0) / std::max(1, ranks), 12.0, 40.0);
    for (int r = 0; r < ranks; ++r)
      drawRank(p, QRectF(left, 92 + r * pitch, right - left, pitch * 0.62), r);
    const double y = 92 + ranks * pitch + 12;
    p.setFont(textFont(13));
    p.setPen(theme_->text);
    QString words = QString(
                        "Balance %1 %: the mean over the largest share. Contiguous causal "
                        "shards cannot pass N / (2N − 1) = %2 %.")
                        .arg(scene_.efficiency() * 100, 0, 'f', 0)
                        .arg(contiguousCap(ranks) * 100, 0, 'f', 0);
    if (const int rank = scene_.longestWaiting(); rank >= 0)
      words += QString(" Rank %1 waits most.").arg(rank);
    p.drawText(QRectF(left, y, right - left, 90), Qt::TextWordWrap, words);
  }

  void drawRank(QPainter& p, const QRectF& row, int rank) const {
    const auto i = static_cast<std::size_t>(rank);
    const double largest =
        std::max(1e-9, *std::max_element(scene_.work_total.begin(), scene_.work_total.end()));
    const QRectF bar = row.adjusted(60, 0, -130, 0);
    p.setPen(rank == hub_.selectedRank() ? theme_->text : theme_->dim);
    p.setFont(textFont(12));
    p.drawText(row, Qt::AlignVCenter, QString("rank %1").arg(rank));
    p.setPen(QPen(theme_->line, 1));
    p.setBrush(theme_->raised);
    p.drawRect(
        QRectF(bar.topLeft(), QSizeF(bar.width() * scene_.work_total[i] / largest, bar.height())));
    p.setPen(Qt::NoPen);
    p.setBrushOrigin(bar.topLeft());
    p.setBrush(rankBrush(rank));
    p.drawRect(
        QRectF(bar.topLeft(), QSizeF(bar.width() * scene_.work_done[i] / largest, bar.height())));
    p.setPen(theme_->text);
    p.setFont(monoFont(12));
    p.drawText(QRectF(bar.right() + 6, row.top(), 34, row.height()),
               Qt::AlignVCenter | Qt::AlignRight, QString::number(scene_.work_total[i]));
    const bool most = rank == scene_.longestWaiting();
    p.setFont(monoFont(12, most ? QFont::Bold : QFont::Normal));
    p.setPen(most ? theme_->wait : theme_->dim);
    p.drawText(row, Qt::AlignVCenter | Qt::AlignRight, describeDuration(scene_.wait_ns[i]).c_str());
  }

  CoverageScene scene_;
  int moment_ = -1;
};

}  // namespace

View* makeCoverageView(Hub& hub, QWidget* parent) {
  return new CoverageView(hub, parent);
}

}  // namespace ringscope::viz
